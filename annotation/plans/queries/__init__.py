"""What is read for a study's move to another version of its taxonomy: before a plan, of it, and in its worklist."""
