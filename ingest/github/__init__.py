"""GitHub as a source: client, GraphQL and REST readers, and the records that its answers become."""
