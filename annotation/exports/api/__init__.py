"""REST views of exports."""
