"""Types of keys whose values may be equal and not identical, texts of such values, and conditions on them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from struct import pack, unpack

import pyarrow as pa
from pyspark.sql import SparkSession

_MINUS_ZERO = re.compile(r"-0\.0(?![0-9])")
_ZEROS = ("0.0", "-0.0", "NaN", "0.0", "-0.0", None, "0.0", "-0.0", "1.5", "-1.0", "Infinity")
_LETTERS = (
    *("a", "A", "a ", "b", "B", "ä", "Ä", "a\u0308", "A\u0308", "ß", "ẞ", "ss", "SS"),
    *("i", "I", "İ", "ı", "i\u0307", "Σ", "σ", "ς", "", " ", None),
)
TIMES = (
    *("2024-03-31 02:30:00", "2024-03-31 01:30:00", "2024-10-27 00:30:00", "2024-10-27 02:30:00"),
    *("1970-01-01 00:00:00", "1582-10-04 12:00:00", "1582-10-10 12:00:00", "0001-01-01 00:00:00"),
    *("1900-01-01 00:00:00", "1986-01-01 00:00:00", None),
)
"""One hour of them does not exist in Vienna, one comes twice; days that one calendar has; a change of Kathmandu's."""
_MINUS = "CAST(k AS STRING) LIKE '%-0.0%'"
_BYTES = (
    *("k COLLATE UTF8_BINARY = 'A'", "k COLLATE UTF8_BINARY < 'b'", "length(k) = 1", "k = 'a'"),
    *("k > 'a'", "k IN ('ss', 'i')", "hex(encode(k, 'UTF-8')) LIKE '4%'", "upper(k) = 'SS'"),
    *("lower(k) = 'i'", "upper(k) = 'I'"),
)
_OF_TIMES = (
    "hour(k) = 2",
    "CAST(k AS DATE) < DATE '1600-01-01'",
    "dayofmonth(k) > 10",
    "date_format(k, 'EEEE') = 'Sunday'",
)
CONDITIONS = ("v > 2", "v % 2 = 0", "k IS NULL OR v < 3")
"""Of all types of keys."""


Stored = Callable[[Sequence[str | None]], pa.Array]
_NANS = [unpack("<d", pack("<Q", bits))[0] for bits in (0x7FF8 << 48, (0xFFF8 << 48) + 1, (0x7FF8 << 48) + 7)]
"""Three of the values that are no number: equal to Spark, and not identical."""


def _column(kind: pa.DataType, value: Callable[[str], object]) -> Stored:
    return lambda texts: pa.array([None if text is None else value(text) for text in texts], kind)


def _floats(kind: pa.DataType) -> Stored:
    nans = itertools.cycle(_NANS)
    return _column(kind, lambda text: next(nans) if text == "NaN" else float(text))


def _times(kind: pa.DataType) -> Stored:
    """Return columns of times, which Python reads in UTC."""
    zone = UTC if kind.tz else None
    return _column(kind, lambda text: datetime.fromisoformat(text).replace(tzinfo=zone))


@dataclass(frozen=True)
class Key:
    """A type of keys: `of_text` makes a value from a text `x`, which is one of `texts`."""

    of_text: str
    texts: Sequence[str | None]
    conditions: Sequence[str]
    compared: Sequence[str] = ()
    """More conditions, for splits only: Spark answers them by statistics of files, in which NaN is left out."""
    collation: str | None = None
    stored: Stored | None = None
    """Makes a column of files that has the values of texts; None if the key is made of a column of text."""

    @property
    def has_zeros(self) -> bool:
        """Whether texts are those of 0.0 and -0.0, which are equal and not identical."""
        return self.texts is _ZEROS

    def same(self, text: str | None, spark: SparkSession) -> str | None:
        """Return what the texts of equal values have in common."""
        if text is None:
            return None
        if self.collation is not None:
            return _first_equal(self.collation, spark)[text]
        return _MINUS_ZERO.sub("0.0", text)


def _floating(kind: str, stored: pa.DataType) -> Key:
    conditions = (_MINUS, _MINUS, _MINUS, "isnan(k)")
    return Key(f"CAST(x AS {kind})", _ZEROS, conditions, _ON_NUMBERS, stored=_floats(stored))


def _collated(name: str) -> Key:
    return Key(f"x COLLATE {name}", _LETTERS, _BYTES, collation=name)


_ON_NUMBERS = ("k = 0.0", f"k = 0.0 AND {_MINUS}", "k > 1", "k <= 0", "k = -0.0 OR v = 1")
KEYS: Mapping[str, Key] = {
    "double": _floating("DOUBLE", pa.float64()),
    "float": _floating("FLOAT", pa.float32()),
    "struct": Key("named_struct('d', CAST(x AS DOUBLE))", _ZEROS, (_MINUS, "k.d = 0 AND v < 2")),
    "array": Key("array(CAST(x AS FLOAT))", _ZEROS, (_MINUS, "k[0] > 1")),
    "decimal": Key(
        "CAST(x AS DECIMAL(9,2))",
        ("1.0", "1.00", "-0.00", "0", "2.50", None),
        ("k = 1", "CAST(k AS STRING) LIKE '%.00'"),
        stored=_column(pa.decimal128(9, 2), lambda text: Decimal(text).quantize(Decimal("0.01"))),
    ),
    "text": Key("x", _LETTERS, _BYTES, stored=_column(pa.string(), str)),
    "lower case": _collated("UTF8_LCASE"),
    "Unicode": _collated("UNICODE_CI"),
    "German": _collated("de_CI_AI"),
    "trailing blanks": _collated("UTF8_BINARY_RTRIM"),
    "Turkish": _collated("tr_CI"),
    "timestamp": Key("CAST(x AS TIMESTAMP)", TIMES, _OF_TIMES, stored=_times(pa.timestamp("us", "UTC"))),
    "local time": Key("CAST(x AS TIMESTAMP_NTZ)", TIMES, _OF_TIMES, stored=_times(pa.timestamp("us"))),
    "date": Key(
        "CAST(CAST(x AS TIMESTAMP_NTZ) AS DATE)",
        TIMES,
        ("k < DATE '1600-01-01'", "month(k) = 3"),
        stored=_column(pa.date32(), lambda text: date.fromisoformat(text[:10])),
    ),
}


@cache
def _first_equal(collation: str, spark: SparkSession) -> Mapping[str, str]:
    """Return for each text the first one that a collation treats as equal: asked for two at a time, without a key."""
    texts = [text for text in _LETTERS if text is not None]
    pairs = spark.createDataFrame([(one, other) for one in texts for other in texts], "x STRING, y STRING")
    equal = pairs.selectExpr("x", "y", f"x COLLATE {collation} = y AS same").collect()
    found: dict[str, str] = {}
    for row in equal:
        if row["same"]:
            found.setdefault(row["x"], row["y"])
    return found
