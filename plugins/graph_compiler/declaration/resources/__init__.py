"""The resources that operators need, and those of the applications of a slot sharing group."""
