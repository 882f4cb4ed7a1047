"""The documents below the staging root: their kinds, limits and forms, in one place."""
