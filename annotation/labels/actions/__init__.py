"""Actions on labels that several features share."""
