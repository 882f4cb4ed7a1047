"""How rows get from one operator to the next: in as many partitions as asked for, each where its edge says."""
