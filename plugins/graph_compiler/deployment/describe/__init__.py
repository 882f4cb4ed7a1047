"""A compiled pipeline as descriptors of its regions: what each computes, and where its templates are."""
