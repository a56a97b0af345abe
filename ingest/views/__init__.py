"""Pages of repositories, fetches and issues."""
