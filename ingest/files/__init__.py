"""Issue files: read row by row, exported, and removed when no longer needed."""
