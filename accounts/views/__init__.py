"""Pages of people: signing in, their own settings, links for a password, providers."""
