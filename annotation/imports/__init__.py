"""Imports of ratings: spreadsheets, Label Studio, and doccano files become rounds of a study."""
