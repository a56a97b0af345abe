"""Proposals: categories that raters propose, and the owner's answers."""
