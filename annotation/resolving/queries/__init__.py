"""Queries of resolving."""
