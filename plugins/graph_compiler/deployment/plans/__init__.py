"""Parts and records of a plan: the regions that an operator needs, replays, and what a plan computes."""
