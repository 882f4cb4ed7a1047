"""Documents that many may write and anybody may damage: put if absent, and read within bounds."""
