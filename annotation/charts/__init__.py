"""Charts: Vega-Lite and Vega specifications, and their rendering to files."""
