"""What `graph-compiler doctor` looks at: one function for each check, gathered in tuples."""
