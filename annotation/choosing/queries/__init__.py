"""Queries on samples, duplicates, and changed issues."""
