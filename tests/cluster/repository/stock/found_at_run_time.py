"""A module that no import statement names."""

TAX = 1.5
