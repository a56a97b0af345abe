"""Discussion of disagreements: comments on items, mentions, and changed labels."""
