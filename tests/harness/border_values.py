"""Values at the limits of every type of Spark, as one DataFrame, and as texts that are equal only if the values are."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
FLOATS = ("'NaN'", "'Infinity'", "'-Infinity'", "'-0.0'", "'0.0'", "'0.1'")
TEXTS = (
    "''", "' '", "'  before'", "'behind  '", "'\\t'", "'a,b'", "'say \"hi\"'", "'\"'", "'\"\"'",
    "'\\\\'", "'ends \\\\'", "'a\\\\\"b'", "'\\\\n'", "'two\\nlines'", "'a\\rb'", "'a\\r\\nb'", "'\\n'",
    "'NULL'", "'null'", "'NaN'", "'-'", "'#c'", "'\\''", "'1'", "'true'", "'{}'", "'[1]'", "'a:b'",
    "'\\u0000'", "'a\\u0000b'", "'\\ufeffb'", "'\\u2028'", "'\\u0085'", "'\\u00a0x'", "'e\\u0301'",
    "'\\U0001F600'", "'\\u000b'", "'<a>&amp;</a>'", "repeat('x', 5000)", "'__HIVE_DEFAULT_PARTITION__'",
)  # fmt: skip
DAYS = (
    "0001-01-01", "1582-10-04", "1582-10-05", "1582-10-10", "1582-10-14", "1582-10-15", "1899-12-31",
    "1900-01-01", "1969-12-31", "1970-01-01", "2000-02-29", "9999-12-31",
)  # fmt: skip
TIMES = (
    "0001-01-01 00:00:00", "1582-10-04 23:59:59.999999", "1582-10-10 12:00:00.5", "1582-10-15 00:00:00",
    "1883-11-18 12:03:58.123456", "1899-12-31 23:59:59.000001", "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00", "2013-03-31 01:30:00", "2013-03-31 02:30:00", "2013-10-27 02:30:00",
    "2021-07-01 00:00:00.001", "2038-01-19 03:14:08.000001", "9999-12-31 23:59:59.999999",
)  # fmt: skip
BYTES = ("''", "'00'", "'FF'", "'C3'", "'610A62'", "'22'", "'E29C93'")


def _integers(name: str, bits: int) -> list[str]:
    most = 2 ** (bits - 1)
    return [f"CAST('{number}' AS {name})" for number in (-most, -1, 0, most - 1)]


def _decimals(precision: int, scale: int) -> list[str]:
    most = "9" * (precision - scale) + ("." if scale else "") + "9" * scale
    least = f"0.{'0' * (scale - 1)}1" if scale else "1"
    kind = f"DECIMAL({precision},{scale})"
    return [f"CAST('{text}' AS {kind})" for text in (most, f"-{most}", "0", least)]


_ALL_BYTES = "".join(f"{byte:02X}" for byte in range(256))
VALUES: Mapping[str, list[str]] = {
    "boolean": ["true", "false"],
    **{name: _integers(name, bits) for name, bits in INTEGERS.items()},
    "float": [f"CAST({text} AS FLOAT)" for text in (*FLOATS, "'1.4E-45'", "'3.4028235E38'")],
    "double": [
        f"CAST({text} AS DOUBLE)" for text in (*FLOATS, "'4.9E-324'", "'1.7976931348623157E308'")
    ],
    "decimal(38,0)": _decimals(38, 0),
    "decimal(38,38)": _decimals(38, 38),
    "decimal(38,18)": _decimals(38, 18),
    "decimal(9,2)": _decimals(9, 2),
    "string": list(TEXTS),
    "char(3)": ["CAST('x  ' AS CHAR(3))", "CAST('abc' AS CHAR(3))"],
    "varchar(3)": ["CAST('x  ' AS VARCHAR(3))", "CAST('' AS VARCHAR(3))"],
    "string collate utf8_lcase": ["'Ab' COLLATE UTF8_LCASE", "'' COLLATE UTF8_LCASE"],
    "binary": [*(f"X{text}" for text in BYTES), f"X'{_ALL_BYTES}'"],
    "date": [f"DATE '{day}'" for day in DAYS],
    "date beyond 9999": ["date_from_unix_date(2932897)", "date_from_unix_date(-719529)"],
    "timestamp": [f"TIMESTAMP '{time}'" for time in TIMES],
    "timestamp beyond 9999": ["timestamp_micros(253402300800000001)"],
    "timestamp_ntz": [f"TIMESTAMP_NTZ '{time}'" for time in TIMES],
    "interval year to month": [
        "make_ym_interval(178956970, 7)", "make_ym_interval(-178956970, -8)", "make_ym_interval(0, 0)",
    ],
    "interval day to second": [
        "INTERVAL '106751991 04:00:54.775807' DAY TO SECOND",
        "INTERVAL '-106751991 04:00:54.775808' DAY TO SECOND",
        "INTERVAL '0 00:00:00.000001' DAY TO SECOND",
    ],
    "time": ["TIME '00:00:00'", "TIME '23:59:59.999999'"],
    "interval": ["make_interval(1, 2, 3)"],
    "variant": [
        "parse_json('{\"a\": [1, null, \"x\"]}')", "parse_json('null')",
        "to_variant_object(array(TIMESTAMP '1582-10-10 12:00:00.5'))",
    ],
    "void": ["NULL"],
    "array<int>": ["array()", "array(1, NULL, 3)", "array(NULL)"],
    "array<string>": ["array('')", "array('a,b', NULL, '\"')", "array()"],
    "map<string,int>": ["map()", "map('', 1, 'k', NULL)", "map('a.b', 2)"],
    "map<int,string>": ["map(1, '')", "map(2, NULL)"],
    "struct<a:int,b:string>": [
        "named_struct('a', 1, 'b', '')", "named_struct('a', CAST(NULL AS INT), 'b', CAST(NULL AS STRING))",
    ],
    "array<struct<t:timestamp,m:map<string,array<double>>>>": [
        "array(named_struct('t', TIMESTAMP '1582-10-10 00:00:00.000001', 'm', map('k', array(double('NaN'), -0.0D))))",
        "array(NULL)",
    ],
}  # fmt: skip
"""SQL of every value, by the type of its column; the last of each column is NULL."""


def name_of(kind: str) -> str:
    """Return the column of a type."""
    return "".join(letter if letter.isalnum() else "_" for letter in kind)


def border_values(spark: SparkSession, kinds: list[str]) -> DataFrame:
    """Return a row for each value, with NULL in columns that have fewer; `id` is the number of the row."""
    count = max(len(VALUES[kind]) for kind in kinds) + 1
    columns = []
    for kind in kinds:
        cases = " ".join(f"WHEN {n} THEN {value}" for n, value in enumerate(VALUES[kind]))
        columns.append(f"CASE CAST(id AS INT) {cases} END AS {name_of(kind)}")
    return spark.range(0, count, 1, 1).selectExpr("CAST(id AS INT) AS id", *columns)


def as_texts(rows: DataFrame) -> dict[str, list[str | None]]:
    """Return the values of each column, in the order of `id`, as text."""
    columns = [_text(name, kind) for name, kind in rows.dtypes if name != "id"]
    names = [name for name in rows.columns if name != "id"]
    found = rows.orderBy("id").selectExpr(*columns).collect()
    return {name: [row[n] for row in found] for n, name in enumerate(names)}


def _text(name: str, kind: str) -> str:
    for beginning, expression in _TEXTS.items():
        if kind.startswith(beginning):
            return expression.format(name)
    return f"CAST({name} AS STRING)"


_AS_JSON = "to_json({}, map('ignoreNullFields', 'false', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))"
_TEXTS = {
    **dict.fromkeys(("string", "char", "varchar"), "hex(CAST({} AS STRING))"),
    "binary": "hex({})",
    "timestamp_ntz": "CAST({} AS STRING)",
    "timestamp": "CAST(unix_micros({}) AS STRING)",
    "date": "CAST(unix_date({}) AS STRING)",
    **dict.fromkeys(("array", "map", "struct"), _AS_JSON),
}
"""How a value of a type is written so that others are written otherwise, by how the type's name begins."""
