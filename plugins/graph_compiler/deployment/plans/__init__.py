"""Parts and records of a plan: regions an operator needs, an execution done again, what a plan computes."""
