"""Analysis of agreed labels: statistics over NumPy arrays, with the labels they rest on."""
