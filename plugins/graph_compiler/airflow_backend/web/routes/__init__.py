"""The routes of the web view, and what every answer carries."""
