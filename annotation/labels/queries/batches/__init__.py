"""What came out of a study as record batches, a stretch of a round at a time: for files of a million rows."""
