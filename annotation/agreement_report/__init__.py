"""Agreement of a study: patterns from the database, headline, trend, charts, and tables."""
