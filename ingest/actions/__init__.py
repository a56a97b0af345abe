"""Actions of ingest: every change by fetches, uploads, webhook deliveries, and visibility."""
