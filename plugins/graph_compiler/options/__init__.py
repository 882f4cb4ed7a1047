"""The options of a pipeline and of a deployment under their keys: the model, its reader, and their descriptions."""
