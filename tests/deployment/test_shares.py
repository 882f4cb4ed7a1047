"""Which rows of a staged result each consumer reads."""

from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.deployment.documents.manifest import DataFile, ManifestPartition
from graph_compiler.deployment.plans.partition_shares import shares


def staged(*partitions: list[int]) -> tuple[ManifestPartition, ...]:
    """Return partitions with files of so many rows."""
    return tuple(
        ManifestPartition(
            index=index,
            files=tuple(DataFile(name=f"{index}-{number}", rows=rows, bytes=rows) for number, rows in enumerate(files)),
        )
        for index, files in enumerate(partitions)
    )


def read(partitions: tuple[ManifestPartition, ...], consumers: int) -> list[list[tuple[str, int]]]:
    """Return the rows that each consumer reads, as (file, position)."""
    return [
        [(slice.file.name, row) for slice in share for row in slice.rows]
        for share in shares(partitions, consumers=consumers)
    ]


PARTITIONS = st.lists(st.lists(st.integers(min_value=0, max_value=9), max_size=3), max_size=16).map(
    lambda sizes: staged(*sizes)
)


@given(PARTITIONS, st.integers(min_value=1, max_value=16))
def test_every_row_is_read_exactly_once(partitions: tuple[ManifestPartition, ...], consumers: int) -> None:
    found = read(partitions, consumers)
    assert len(found) == consumers
    written = [(file.name, row) for part in partitions for file in part.files for row in range(file.rows)]
    assert sorted(row for rows in found for row in rows) == sorted(written)


@given(PARTITIONS, st.integers(min_value=1, max_value=16))
def test_consumers_read_whole_partitions_where_there_are_enough_else_even_ranges_of_one(
    partitions: tuple[ManifestPartition, ...], consumers: int
) -> None:
    producers = len(partitions)
    found = read(partitions, consumers)
    if producers >= consumers:
        expected = [
            {int(index) for index in range(i * producers // consumers, (i + 1) * producers // consumers)}
            for i in range(consumers)
        ]
        assert all(
            {int(name.partition("-")[0]) for name, _ in rows} <= wanted
            for rows, wanted in zip(found, expected, strict=True)
        )
        return
    for index in range(producers):
        sizes = [len(rows) for consumer, rows in enumerate(found) if consumer * producers // consumers == index]
        assert max(sizes) - min(sizes) <= 1
        assert sum(sizes) == sum(file.rows for file in partitions[index].files)


def test_a_partition_is_cut_across_its_files() -> None:
    (first, second) = shares(staged([3, 4]), consumers=2)
    assert [(slice.file.name, slice.rows, slice.is_whole) for slice in first] == [("0-0", range(3), True)]
    assert [(slice.file.name, slice.rows, slice.is_whole) for slice in second] == [("0-1", range(4), True)]
    cut = shares(staged([4, 4]), consumers=3)[1]
    assert [(slice.file.name, slice.rows, slice.is_whole) for slice in cut] == [
        ("0-0", range(2, 4), False),
        ("0-1", range(1), False),
    ]


def test_a_result_without_partitions_gives_every_consumer_nothing() -> None:
    assert shares((), consumers=3) == ((), (), ())
