"""REST views of members and invitations."""
