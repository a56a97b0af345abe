"""Pages of exports."""
