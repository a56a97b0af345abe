"""Actions that choose issues."""
