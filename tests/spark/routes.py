"""Partitioners of the tests', in a module that Python workers can import too."""


def by_key(key: int, partitions: int) -> int:
    return key % partitions


def by_both(key: tuple[int, int], partitions: int) -> int:
    k, v = key
    return 0 if k == 0 else v % partitions


def past_the_end(key: int, partitions: int) -> int:
    return partitions if key == 3 else 0


def below_zero(key: int, partitions: int) -> int:
    return -1 if key == 3 else partitions - 1


def in_words(key: int, partitions: int) -> str:
    return f"{key} of {partitions}"


def of_null(key: int | None, partitions: int) -> int:
    return partitions - 1 if key is None else 0
