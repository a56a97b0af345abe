"""Actions of the overview."""
