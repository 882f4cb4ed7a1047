"""Staged results: manifests in order, who has finished reading, what is damaged or released."""
