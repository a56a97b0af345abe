"""Configuration of the site: settings, URLs, the frame of the API, Celery, servers, and backups."""
