"""Staged results: manifests in order, finished readers, damage and release."""
