"""Functions that cases refer to."""


def clean(rows):
    return rows


clean_all = [clean]
