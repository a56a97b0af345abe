"""A study as one archive that stands by itself: its tables, their dictionary, the papers around them, the figures."""
