"""Search of issues: words, phrases, and GitHub's qualifiers."""
