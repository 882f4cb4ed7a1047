"""The options of a pipeline and of a deployment: the model, its reader, and their descriptions."""
