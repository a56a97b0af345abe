"""Actions on invitations."""
