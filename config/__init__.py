"""Settings, doors and servers: what holds the apps together."""
