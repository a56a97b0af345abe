"""REST views of resolving."""
