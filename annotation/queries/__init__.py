"""What can be read of a study: querysets and frozen dataclasses; nothing here writes."""
