"""Queries on members."""
