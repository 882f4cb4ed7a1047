"""Renderings of a compiled pipeline for people; nothing here decides anything."""
