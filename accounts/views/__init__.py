"""Pages of accounts: sign-in, user settings, password links, providers."""
