"""Queries on labels: answers, verdicts, agreed labels, ratings, and disagreements."""
