"""A module below the package."""


def rounded(value: float) -> float:
    """Return a value with two digits."""
    return round(value, 2)
