"""A claim checker: every sentence of the texts for papers is parsed and recomputed from exported rows.

`rows`, `statistics`, `checker` and `analyses` share no code with the product: they read exported files and answers of
REST alone.
"""
