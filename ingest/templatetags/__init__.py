"""Template tags of ingest."""
