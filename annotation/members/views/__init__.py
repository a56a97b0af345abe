"""Pages of members."""
