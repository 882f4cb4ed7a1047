"""What in a staging root can go: read, decided, removed."""
