"""Files that this project wrote and reads again: read as they were written, or not at all."""
