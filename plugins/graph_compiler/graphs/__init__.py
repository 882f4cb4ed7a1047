"""The graphs as frozen values; nothing here decides anything."""
