"""How rows get from one operator to the next: distributed as the edge declares, in the requested partitions."""
