"""Actions of raters."""
