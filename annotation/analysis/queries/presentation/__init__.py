"""Presentation of analyses: sentences, tables, and figures, for pages, files, and packages."""
