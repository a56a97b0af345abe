"""Batches: agreed labels and ratings as record batches, for files of a million rows."""
