"""What `graph-compiler doctor` asks: tables of questions, each with its probe, what that needs, and a cure."""
