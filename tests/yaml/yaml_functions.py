"""Functions that YAML refers to; none is called."""


def one(data: object) -> object:
    return data


def two(data: object, other: object) -> object:
    return (data, other)


def three(data: object, other: object, third: object) -> object:
    return (data, other, third)
