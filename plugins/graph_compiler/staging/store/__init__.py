"""Documents that several processes write and that may be damaged: put if absent, and read within limits."""
