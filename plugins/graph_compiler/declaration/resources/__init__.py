"""The resources that operators need, and those of a slot sharing group's applications."""
