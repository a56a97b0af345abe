"""Taxonomies: documents, versions, kinds of questions, comparison of versions, and migration of values."""
