"""Accounts: users, sign-in, sessions, API tokens, password links, and sign-in providers."""
