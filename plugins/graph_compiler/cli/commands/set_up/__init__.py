"""Commands about this machine and its settings: what is there, and what makes runs faster."""
