"""Queries on studies."""
