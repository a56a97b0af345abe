"""Actions on studies."""
