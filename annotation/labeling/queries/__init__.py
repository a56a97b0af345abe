"""Queries of the labeling page."""
