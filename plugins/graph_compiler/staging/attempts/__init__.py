"""What happened to the attempts of a run: their order, claims and documents, and the one reader of these."""
