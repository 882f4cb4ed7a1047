"""Publications to folders on disks: what is there, what is mounted, and how files are moved in."""
