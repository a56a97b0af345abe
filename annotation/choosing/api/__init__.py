"""REST views of samples, duplicates, and changed issues."""
