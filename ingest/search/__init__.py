"""Search of issues: what words find, GitHub's qualifiers, and the conditions for the database."""
