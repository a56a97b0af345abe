"""Actions on rounds."""
