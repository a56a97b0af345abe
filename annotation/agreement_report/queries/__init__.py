"""Queries on agreement: patterns, coefficients, headline, raters, and excluded units."""
