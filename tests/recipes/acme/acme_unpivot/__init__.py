"""An operator that is a package of its own: columns become rows."""
