"""Members of a study: roles, invitations, leaving, reader links, and password links."""
