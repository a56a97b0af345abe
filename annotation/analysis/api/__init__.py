"""REST views of analysis."""
