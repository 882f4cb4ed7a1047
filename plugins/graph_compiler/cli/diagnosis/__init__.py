"""The checks of `graph-compiler doctor`: one function each, collected in tuples."""
