"""Webhooks of GitHub: messages as records, and the run that stores them in order."""
