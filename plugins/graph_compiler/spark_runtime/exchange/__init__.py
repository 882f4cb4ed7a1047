"""How rows get from one operator to the next: the requested partitions, distributed as the edge declares."""
