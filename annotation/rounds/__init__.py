"""Rounds: from draft to open, resolving, and closed, with their raters, absences, and due dates."""
