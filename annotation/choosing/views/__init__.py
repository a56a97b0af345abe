"""Pages of samples, duplicates, and changed issues."""
