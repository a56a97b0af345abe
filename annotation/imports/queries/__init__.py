"""Queries of imports."""
