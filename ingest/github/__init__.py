"""GitHub as a source: how it is asked, and what its answers mean."""
