"""Rendering of issue text: Markdown to safe HTML, with footnotes, emoji, formulas, and images."""
