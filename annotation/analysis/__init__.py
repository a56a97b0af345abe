"""Statistics of agreed labels over NumPy arrays: what a table or a figure of a study says, with what it rests on."""
