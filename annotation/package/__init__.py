"""Replication package: tables, data dictionary, papers, figures, and the script that recomputes results."""
