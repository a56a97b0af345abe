"""Actions that import ratings."""
