"""A compiled pipeline as descriptors of its regions: what each of them computes, and where its templates are."""
