"""Annotation: studies, from drawn issues to labels, disagreements, agreed labels, agreement, and exports."""
