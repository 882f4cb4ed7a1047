"""Streams: whose a checkpoint is, and what it can be continued by."""
