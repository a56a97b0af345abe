"""REST views of agreement, ratings, disagreements, and agreed labels."""
