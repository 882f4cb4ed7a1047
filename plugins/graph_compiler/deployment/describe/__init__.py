"""A compiled pipeline as descriptors of its regions: what each computes, where its templates stand."""
