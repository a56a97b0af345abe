"""Every change of state of what comes in; pages, API and commands call the same functions."""
