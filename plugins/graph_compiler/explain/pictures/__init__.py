"""A compiled pipeline as pictures: nodes in groups, and labeled edges, as text for several drawing programs."""
