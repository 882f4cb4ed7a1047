"""Where Spark applications run: the targets that are built in, those of other packages, and what each can do."""
