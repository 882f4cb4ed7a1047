"""Sources that read only what is new: what is new, and how exactly that is read (decision 78)."""
