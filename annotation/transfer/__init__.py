"""Transfer: a study as one file, its import on another server, duplication, and deletion."""
