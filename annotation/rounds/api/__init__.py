"""REST views of rounds."""
