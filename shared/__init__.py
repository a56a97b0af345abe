"""Shared utilities of every app: jobs, errors, CSV and row files, storage, rate limits, cached values."""
