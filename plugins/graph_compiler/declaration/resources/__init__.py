"""What operators need, and what the applications of a slot sharing group are given."""
