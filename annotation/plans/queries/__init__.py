"""Queries on migration plans and their relabeling queues."""
