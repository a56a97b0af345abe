"""Pages of studies, by feature."""
