"""Alerts as values, and the forms in which people read them: text, HTML, blocks of Slack."""
