"""The one document of a compiled pipeline: its values, and who writes them from the graphs (decision 65)."""
