"""An audit of what pipelines publish: an example of a listener in a separate package."""
