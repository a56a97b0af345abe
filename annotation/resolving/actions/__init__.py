"""Actions of resolving."""
