"""Actions on assignments: states, end of labeling, third raters, reading log."""
