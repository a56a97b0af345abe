"""Form helpers of studies: lists of words, the largest seed."""

LARGEST_SEED = 2**63 - 1


def words(text: str) -> list[str]:
    """The entries of a list separated by commas."""
    return [word for word in (each.strip() for each in text.split(",")) if word]
