"""Statistics of agreed labels over NumPy arrays; pure."""
