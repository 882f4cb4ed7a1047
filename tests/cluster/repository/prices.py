"""A module beside the package."""

FACTOR = 2.5
