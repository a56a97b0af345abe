"""Actions on members."""
