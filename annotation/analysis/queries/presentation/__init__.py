"""Analyses as they are shown: sentences, tables and figures, for pages, files and packages."""
