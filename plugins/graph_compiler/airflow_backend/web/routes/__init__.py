"""The routes of the web view, and the headers of every answer."""
