"""Choosing of issues: samples, screening, duplicates, and pinned snapshots."""
