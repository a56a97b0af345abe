"""Queries for the methods text: rounds, raters, earlier reading, dimensions, samples, and resolutions."""
