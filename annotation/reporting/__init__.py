"""The numbers of a study, from the database's rating patterns to pages, API and files."""
