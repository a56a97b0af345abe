"""Queries of transfer."""
