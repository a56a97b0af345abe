"""Queries of the overview."""
