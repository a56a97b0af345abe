"""Queries on invitations."""
