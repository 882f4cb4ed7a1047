"""Follow an application that may outlive its task's process: by a later try, by the triggerer, to its end."""
