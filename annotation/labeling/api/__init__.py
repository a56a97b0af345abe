"""REST views of raters."""
