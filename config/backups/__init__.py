"""Backups: all that a Concord holds in one file, made while people work, and put back whole or not at all."""
