"""An operator in a separate package: columns become rows."""
