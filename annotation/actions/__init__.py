"""Every change of state in a study; pages, API and commands call the same functions."""
