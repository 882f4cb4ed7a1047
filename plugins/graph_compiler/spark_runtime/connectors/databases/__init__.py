"""What the driver does in databases: errors, names, marks, transactions, snapshots."""
