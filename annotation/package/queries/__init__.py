"""Queries of the replication package."""
