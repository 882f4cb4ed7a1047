"""What the driver asks of a database: its errors, its names, its marks, its transactions, its snapshots."""
