"""Renders a compiled pipeline for people; decides nothing."""
