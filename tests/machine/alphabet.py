"""Names and values that have caused faults: columns, partitions and targets are drawn from them."""

from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

PARTITION_COLUMNS = (
    *("day", "Day", "_day", "__x", ".day", "empty-seats", "part-0", "a b", " a", "a "),
    *("a=b", "a/b", "100%", "%41", "x[1]", "{x}", "a*", "q?", "it's", '"q"', "back`tick", "a:b"),
    *("a\\b", "a\nb", "größe", "日", "🙂", "c" * 200, "CON", "1", "a.b"),
)
"""Columns that folders are named after."""

PLAIN_VALUES = ("a", "b", "c")

NO_VALUES = ("", None, "__HIVE_DEFAULT_PARTITION__")
"""Values that are written as one folder's name."""

PARTITION_VALUES = (
    *("a", "A", "", None, "__HIVE_DEFAULT_PARTITION__", "_x", ".x", "empty-x", "part-0"),
    *("/", "=", "%", "%2F", "*", "[a]", "{b}", "`", "'", '"', "\\", ":", "?", "#", "\n", "\t", " "),
    *(" x", "x ", "01", "1", "1.0", "2013-01-01", "null", "true", "..", ".", "~"),
    *("v" * 200, "ß", "é", "e\u0301", "日", "🙂", "x._COPYING_", "\x7f"),
)
"""Values of such a column."""

TARGETS = (
    *("out", "Out", "_out", ".out", "a b", " out", "out ", "x[1]", "x{a,b}", "x*", "x?"),
    *("%41", "a%2Fb", "a+b", "a#b", "it's", "a\\b", "day=2013-01-01", "größe", "日", "t" * 200),
    *("empty-x", "part-0", "a.parquet", "a:b", "a\nb"),
)
"""Names of folders that sinks write."""

FOREIGN_FILES = (
    *("data", "part-0", "part-00000-x-c000", "x", "_x", ".x", "_a=b", "a b", "x[1]", "größe"),
    *("x._COPYING_", "_metadata", "empty-x"),
)
"""Names of files that others put into a target; what hides them from Spark hides them from everybody."""

LINKS = ("none", "same disk", "other disk")
"""Where a target leads that is a link."""

ALIASES = ("{}/", "file:{}", "file://{}", "//{}")
"""Other ways to write a path."""

TABLES = (
    ("orders", "public.orders", "ORDERS"),
    ("public.orders", '"orders"', "Public.Orders"),
    ('"Or ders"', 'public."Or ders"'),
    ('"_x"', "_x"),
)
"""Names of tables; those in a row are the same table."""

TABLE_COLUMNS = ("day", "Day", "_day", "a b", "a=b", "a.b", "it's", "größe", "🙂", "order", "a`b")
"""Columns of tables."""

OPTIONS: tuple[tuple[tuple[str, str], ...], ...] = (
    (),
    (("mapreduce.output.basename", "x"),),
    (("mapreduce.output.basename", "_x"),),
    (("maxRecordsPerFile", "1"),),
    (("compression", "gzip"),),
    (("path", "/nowhere"),),
    (("partitionOverwriteMode", "dynamic"),),
    (("mapreduce.fileoutputcommitter.marksuccessfuljobs", "true"),),
    (("mapreduce.fileoutputcommitter.algorithm.version", "2"),),
)
"""Options of a writer."""

WITHOUT: list[str] = []
"""Words that nothing drawn may contain: to look past what is known."""


def drawn(what: str, values: tuple[T, ...]) -> st.SearchStrategy[T]:
    """Draw one of some values, without those whose `what=value` has a word of WITHOUT."""

    def allowed() -> st.SearchStrategy[T]:
        left = [one for one in values if not any(word in f"{what}={one}" for word in WITHOUT)]
        return st.sampled_from(left) if left else st.nothing()

    return st.deferred(allowed)


def mostly_plain(what: str, plain: T, rare: tuple[T, ...]) -> st.SearchStrategy[T]:
    """Draw the plain value as often as all others together, since two oddities at once hide each other."""
    return st.one_of(st.just(plain), drawn(what, rare))
