"""Core: access, locks, audit, paging, errors, and frames of pages and API that all features use."""
