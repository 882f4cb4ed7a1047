"""A compiled pipeline as pictures: nodes in groups, and edges with words, in the languages that draw them."""
