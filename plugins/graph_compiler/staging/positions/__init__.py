"""Positions of sources that read only what is new: which run has read what (decision 78)."""
