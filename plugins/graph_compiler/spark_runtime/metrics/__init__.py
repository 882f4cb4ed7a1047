"""What a region's operators did: seconds, stages, bytes and rows."""
