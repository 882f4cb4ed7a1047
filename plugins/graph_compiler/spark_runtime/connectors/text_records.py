"""Records of CSV, JSON and text files: each has exactly the expected columns, or is a misfit with its reason.

    line  →  its fields as text  →  their values  →  (values …, misfit)  →  what `on_misfit` says

Spark's own readers check only what a query needs: the columns that are read, of the rows that a pushed filter leaves.
Here all fields of a record are checked before anything else sees them. `inline` separates the two: Spark pushes no
filter through a generator, and computes its struct once. Spark's reader of lines is ten times as fast as that of CSV,
and `from_csv` is the parser of both, so this costs little more (docs/connectors.md).

Where a quoted field may contain the end of a line (`multiLine`), and in other encodings, lines cannot be found first.
Spark's own reader then finds the fields as text; the rest is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr, from_csv, from_json
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from graph_compiler.declaration.connectors import FileConnector
from graph_compiler.declaration.connectors.spark_options import OF_FILES
from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.columns.strict_values import TextFormat, literal
from graph_compiler.spark_runtime.connectors.json_numbers import (
    items_of_list,
    overflows_in_list,
    with_exact_numbers,
)
from graph_compiler.spark_runtime.connectors.source import MISFIT
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.java import decimal_symbols

MARK = "graph_compiler misfit: "
"""The start of the message with which a misfit fails; the struct follows as JSON."""
WRONG_ENCODING = "it has bytes that are not of its encoding"
OPEN_QUOTE = "a quote is not closed in its line, or text follows a closing quote"
WRONG_NUMBER = "it does not have as many fields as there are columns"
NOT_JSON = "it is not one JSON object, or a field in it has another type"
HALF_PAIR = "it has half of a surrogate pair, as \\ud83d, which is no character"
ODD_KEY = "one of its keys differs from the name of a column in case only"
IS_NULL = "it is NULL, and the column is NOT NULL"
CARRIAGE_RETURN = "it ends in a carriage return, unlike other lines of the file"
NOT_SET_ASIDE = (OPEN_QUOTE,)
"""After these, it is unknown where the next record begins, so they fail the task whatever `on_misfit` is."""
_OURS = "graph_compiler_"
_RECORD, _FILE, _FIELDS, _CORRUPT, _MISFIT = (
    f"{_OURS}{name}" for name in ("record", "file", "fields", "corrupt", "number")
)
_LISTING = frozenset(name.lower() for name in OF_FILES) - {"timezone"}
_OF_LINES = _LISTING | {"linesep", "compression", "wholetext"}
_SET_HERE = frozenset(
    {"mode", "columnnameofcorruptrecord", "inferschema", "enforceschema", "header"}
)
_UTF8 = ("", "utf-8", "utf8", "us-ascii")
_MOST_FILES = 10
"""In a message."""
_REPLACEMENT = "\ufffd"
_BYTE_ORDER_MARK = "\ufeff"
_PAIRED = (
    r"(?s)\A(?:[^\\]++|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u(?![dD][89a-fA-F])|\\[^u])*+\z"
)
"""JSON without half of a surrogate pair; Spark would read a question mark."""
_HALF_PAIR = (
    rf"(contains({_RECORD}, '\\ud') OR contains({_RECORD}, '\\uD')) "
    rf"AND NOT {_RECORD} RLIKE {literal(_PAIRED)}"
)
_BETWEEN = "\x01"
"""A character between the names of a header."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A way in which a record may not fit: a condition in SQL, and the reason for people.

    `column`, and the `field` that has its text, are None if it is about the whole record.
    """

    condition: str
    reason: str
    column: str | None = None
    field: str | None = None


@dataclass(frozen=True, kw_only=True)
class TextFiles:
    """The files of one source: `listed` has their lines, as `list_lines` returns them.

    `columns` are those of a record in their order, `folders` those of partition folders. `header` has the names in the
    first line of each file, None if there is no such line.
    """

    connector: FileConnector
    listed: DataFrame
    columns: StructType
    folders: StructType
    header: Sequence[str] | None
    is_inferred: bool

    def read(self) -> DataFrame:
        """Return the rows; if the source has `rejects`, also the misfits, with the column MISFIT.

        Each projection is a method of Spark's generated code, and the JVM compiles no long ones.
        """
        read = self._with_fields(self._lines()) if self.has_lines else self._fields_of_spark()
        folders = [quoted(name) for name in self.folders.names]
        own, misfits = [_RECORD, _FILE, _FIELDS], tuple(self._misfits())
        values = [
            f"{self._value(number)} AS {_value(number)}" for number in range(len(self.columns))
        ]
        valued = read.selectExpr(*own, *folders, *values)
        cases = [f"WHEN {each.condition} THEN {number}" for number, each in enumerate(misfits)]
        first = f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS INT)"
        names = map(_value, range(len(self.columns)))
        numbered = valued.selectExpr(*own, *folders, *names, f"{first} AS {_MISFIT}")
        rows = numbered.selectExpr(*folders, f"inline({self._checked_row(misfits)})")
        if not folders and self.connector.rejects is None and rows.columns == self.columns.names:
            return rows
        order = [quoted(name) for name in (*self.columns.names, *self.folders.names)]
        return rows.selectExpr(*order, *([MISFIT] if self.connector.rejects is not None else []))

    def _checked_row(self, misfits: Sequence[Misfit]) -> str:
        """Return a list of the record's row; of a header, none. It fails for a misfit that may not continue.

        The generator is the last place where each record is seen: Spark moves filters before other filters.
        """
        misfit, fails = _struct_of(misfits), f"{_MISFIT} IS NOT NULL"
        fields = [
            f"{literal(field.name)}, {self._checked_value(number, field)}"
            for number, field in enumerate(self.columns)
        ]
        # Also where it is not used: without it, Spark 4 was seen to lose all rows of CSV with `multiLine`.
        if self.connector.continues_after_misfits:
            fields.append(f"'{MISFIT}', CASE WHEN {_MISFIT} IS NOT NULL THEN {misfit} END")
            never = [str(n) for n, each in enumerate(misfits) if each.reason in NOT_SET_ASIDE]
            fails = f"{_MISFIT} IN ({', '.join(never)})" if never else "false"
        fail = f"raise_error(concat('{MARK}', to_json({misfit})))"
        header = self._is_header() if self.has_lines else None
        is_header = "" if header is None else f"WHEN {header} THEN NULL "
        row = f"array(named_struct({', '.join(fields)}))"
        return f"CASE {is_header}WHEN {fails} THEN {fail} ELSE {row} END"

    def without_one_header(self) -> list[tuple[str, int]]:
        """Return some files with another number of headers than one; reads all lines, and parses few of them."""
        first = literal(self._written(0)[-1]) if self.header else "''"
        may_be = f"CASE WHEN contains(lower({_RECORD}), {first}) THEN {_RECORD} END AS {_RECORD}"
        parsed = self._with_fields(self._lines().selectExpr(_FILE, may_be))
        counted = parsed.groupBy(_FILE).agg(expr(f"count_if({self._is_header()})").alias("headers"))
        wrong = counted.where("headers <> 1").orderBy("headers", _FILE).limit(_MOST_FILES)
        return [(str(file), int(count)) for file, count in wrong.collect()]

    @property
    def _format(self) -> str:
        return self.connector.spark_format.lower()

    @cached_property
    def _options(self) -> dict[str, str]:
        """Return the options by name in lower case: Spark ignores case."""
        return reveal_all({n.lower(): v for n, v in self.connector.spark_options().items()})

    @cached_property
    def has_lines(self) -> bool:
        """Whether each record is a line, or a whole file of JSON."""
        options = self._options
        encoding = (options.get("encoding") or options.get("charset") or "").lower()
        if self._format == "text":
            return True
        if encoding not in _UTF8:
            return False
        return self._format == "json" or options.get("multiline", "false").lower() != "true"

    @property
    def null_value(self) -> str:
        """Return the text of a missing value."""
        return self._options.get("nullvalue", "")

    @cached_property
    def _texts(self) -> TextFormat:
        options = self._options
        decimal, grouping = None, None
        if self._format == "csv" and "locale" in options:
            decimal, grouping = decimal_symbols(self.listed.sparkSession, options["locale"])
        return TextFormat(
            date=options.get("dateformat"),
            timestamp=options.get("timestampformat"),
            timestamp_ntz=options.get("timestampntzformat"),
            time_zone=options.get("timezone"),
            locale=options.get("locale"),
            decimal=decimal,
            grouping=grouping,
            nan=options.get("nanvalue", "NaN"),
            positive_infinity=options.get("positiveinf", "Inf"),
            negative_infinity=options.get("negativeinf", "-Inf"),
            keeps_digits=self.is_inferred,
            is_json=self._format == "json",
        )

    def _lines(self) -> DataFrame:
        """Return the lines of the files with the names of their files; of JSON with `multiLine`, whole files."""
        folders = [quoted(name) for name in self.folders.names]
        listed = (
            list_lines(self.connector, self.listed.sparkSession, self.folders)
            if folders
            else self.listed
        )
        return listed.selectExpr(_RECORD, f"_metadata.file_path AS {_FILE}", *folders)

    def _with_fields(self, lines: DataFrame) -> DataFrame:
        """Add the fields of each line, as text."""
        if self._format == "text":
            return lines.selectExpr("*", f"named_struct('c0', {_RECORD}) AS {_FIELDS}")
        options = {n: v for n, v in self._options.items() if n not in _OF_LINES | _SET_HERE}
        options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        options.pop("multiline", None)
        lines = lines.where(f"{_RECORD} IS NULL OR trim({_RECORD}) <> ''")
        if self._format == "csv":
            if comment := options.get("comment"):
                lines = lines.where(
                    f"{_RECORD} IS NULL OR NOT startswith({_RECORD}, {literal(comment)})"
                )
            names = ", ".join(f"c{number} STRING" for number in range(len(self.columns)))
            parsed = from_csv(_RECORD, f"{names}, {_CORRUPT} STRING", options)
            return lines.withColumn(_FIELDS, parsed)
        folders = [quoted(name) for name in self.folders.names]
        # Hadoop's reader of lines leaves out a byte order mark; that of whole files does not.
        marked = f"startswith({_RECORD}, '{_BYTE_ORDER_MARK}')"
        unmarked = f"CASE WHEN {marked} THEN substr({_RECORD}, 2) ELSE {_RECORD} END AS {_RECORD}"
        # A line, and a file, may be one list of objects.
        items = items_of_list(_RECORD, self._allowed)
        listed = f"startswith(ltrim({_RECORD}), '[') AND NOT ({_HALF_PAIR})"
        records = lines.selectExpr(_FILE, *folders, unmarked).selectExpr(
            _FILE,
            *folders,
            f"explode(CASE WHEN {listed} THEN coalesce({items}, array({_RECORD})) "
            f"ELSE array({_RECORD}) END) AS {_RECORD}",
        )
        corrupt = StructField(_CORRUPT, StringType())
        schema = StructType([*self._texts.text_type(self.columns), corrupt])  # type: ignore[misc]
        objects = records.withColumn(_FIELDS, from_json(_RECORD, schema, options))
        return with_exact_numbers(objects, _FIELDS, self.columns, options, record=_RECORD)

    @property
    def _allowed(self) -> str:
        """Return the options that say what else is JSON, as the last argument of `from_json` in SQL."""
        allowed = ", ".join(
            f"{literal(name)}, {literal(value)}"
            for name, value in self._options.items()
            if name.startswith("allow")
        )
        return f", map({allowed})" if allowed else ""

    def _fields_of_spark(self) -> DataFrame:
        """Return fields as text where records are not lines, by Spark's reader of the format."""
        options = {n: v for n, v in self._options.items() if n not in _SET_HERE}
        options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        texts: StructType = self._texts.text_type(self.columns)  # type: ignore[assignment]
        if self._format == "csv":
            options |= {"header": str(self.header is not None).lower(), "enforceSchema": "false"}
            options |= {"columnPruning": "false", "multiLine": "true"}
            options.setdefault("unescapedquotehandling", "RAISE_ERROR")
        corrupt = StructField(_CORRUPT, StringType())
        reader = self.listed.sparkSession.read.format(self._format).options(**options)
        found = reader.schema(StructType([*texts, *self.folders, corrupt])).load(
            self.connector.path
        )
        struct = [
            f"{literal(f'c{number}' if self._format == 'csv' else name)}, {quoted(name)}"
            for number, name in enumerate(texts.names)
        ]
        fields = f"named_struct({', '.join([*struct, f'{literal(_CORRUPT)}, {_CORRUPT}'])})"
        record = f"coalesce({_CORRUPT}, to_{self._format}(struct(* EXCEPT ({_CORRUPT}))))"
        folders = [quoted(name) for name in self.folders.names]
        return found.selectExpr(
            f"{record} AS {_RECORD}",
            f"_metadata.file_path AS {_FILE}",
            *folders,
            f"{fields} AS {_FIELDS}",
        )

    def _text(self, number: int) -> str:
        """Return the expression of a field's text."""
        return f"{_FIELDS}.{quoted(self._field(number))}"

    def _field(self, number: int) -> str:
        return self.columns[number].name if self._format == "json" else f"c{number}"

    def _value(self, number: int) -> str:
        kind, text = self.columns[number].dataType, self._text(number)
        if kind == StringType() and self.connector.reads_misfits_as_null:
            return f"CASE WHEN {self._is_misencoded(text)} THEN NULL ELSE {text} END"
        return self._texts.value(text, kind)

    def _checked_value(self, number: int, field: StructField) -> str:
        """Return a value, or NULL if misfits are: a lenient cast has a value for many of them."""
        value = _value(number)
        if not self.connector.reads_misfits_as_null:
            return value
        misfit = self._texts.misfit(self._text(number), value, field.dataType)
        return value if misfit is None else f"CASE WHEN {misfit} THEN NULL ELSE {value} END"

    def _is_misencoded(self, text: str) -> str:
        """Return a condition: whether bytes were replaced when this text was decoded."""
        if self._format == "text":
            return f"NOT is_valid_utf8({text})"
        replaced = f"contains({text}, '{_REPLACEMENT}')"
        return f"{replaced} AND NOT is_valid_utf8({_RECORD})" if self.has_lines else replaced

    def _misfits(self) -> Iterator[Misfit]:
        """Yield what may be wrong, in the order in which it is asked."""
        if self.has_lines:
            yield Misfit(f"NOT is_valid_utf8({_RECORD})", WRONG_ENCODING)
        if self._format == "csv":
            yield from self._misfits_of_csv()
        if self._format == "json":
            yield from self._misfits_of_json()
        for number, field in enumerate(self.columns):
            yield from self._misfits_of(number, field)

    def _misfits_of_csv(self) -> Iterator[Misfit]:
        if self.has_lines and (quotes := self._quote_pattern()):
            quote, pattern = quotes
            closed = f"{_RECORD} RLIKE {literal(pattern)}"
            yield Misfit(f"contains({_RECORD}, {literal(quote)}) AND NOT {closed}", OPEN_QUOTE)
        yield Misfit(f"{_FIELDS} IS NULL OR {_FIELDS}.{_CORRUPT} IS NOT NULL", WRONG_NUMBER)
        if not self.has_lines:
            last = self._text(len(self.columns) - 1)
            yield Misfit(f"coalesce(endswith({last}, '\\r'), false)", CARRIAGE_RETURN)

    def _misfits_of_json(self) -> Iterator[Misfit]:
        is_object = f"{_FIELDS} IS NOT NULL AND {_FIELDS}.{_CORRUPT} IS NULL"
        if not self.has_lines:
            yield Misfit(f"NOT coalesce({is_object}, false)", NOT_JSON)
            return
        yield Misfit(_HALF_PAIR, HALF_PAIR)
        # Mostly, the first closing brace is the last character, and there can be no second object.
        whole = f"from_json(concat('[', {_RECORD}, '\\n, 1]'), 'ARRAY<STRING>'{self._allowed})"
        one = f"locate('}}', {_RECORD}) = length(rtrim({_RECORD})) OR size({whole}) = 2"
        yield Misfit(f"NOT coalesce({is_object} AND ({one}), false)", NOT_JSON)
        for condition in _odd_keys(_RECORD, _FIELDS, self.columns, self._allowed, 0):
            yield Misfit(condition, ODD_KEY)

    def _misfits_of(self, number: int, field: StructField) -> Iterator[Misfit]:
        text, kind, own = self._text(number), field.dataType, self._field(number)
        is_plain = not isinstance(kind, StructType | ArrayType | MapType)
        if not field.nullable:
            yield Misfit(f"{text} IS NULL", IS_NULL, field.name)
        if not self.has_lines and is_plain:
            replaced = f"coalesce({self._is_misencoded(text)}, false)"
            yield Misfit(replaced, WRONG_ENCODING, field.name, own)
        overflow = overflows_in_list(kind, text, _RECORD) if self._format == "json" else None
        if overflow is not None:
            yield Misfit(
                f"coalesce({overflow}, false)",
                f"it does not fit {type_words(kind)}",
                field.name,
                own,
            )
        if misfit := self._texts.misfit(text, _value(number), kind):
            yield Misfit(misfit, f"it does not fit {type_words(kind)}", field.name, own)

    def _is_header(self) -> str | None:
        """Return a condition: whether a line has the names of the columns; None if files have no such line."""
        if self.header is None:
            return None
        allowed = {number: self._written(number) for number in range(len(self.header))}
        exact = {number: texts[0] for number, texts in allowed.items() if len(texts) == 1}
        others = [
            f"lower(coalesce({self._text(number)}, '')) IN ({', '.join(map(literal, texts))})"
            for number, texts in allowed.items()
            if len(texts) > 1
        ]
        if not exact:
            return f"({' AND '.join(others)})"
        texts = ", ".join(f"coalesce({self._text(number)}, '')" for number in exact)
        first, name = next(iter(exact.items()))
        is_first = f"length({self._text(first)}) = {len(name)} AND lower({self._text(first)}) = {literal(name)}"
        whole = (
            f"lower(concat_ws('{_BETWEEN}', {texts})) = {literal(_BETWEEN.join(exact.values()))}"
        )
        return f"coalesce({' AND '.join([is_first, whole, *others])}, false)"

    def _written(self, number: int) -> tuple[str, ...]:
        """Return the texts in lower case, shortest last, from which a column may have its name.

        Spark renames a name that occurs twice, and one that is empty or the text of a missing value: id0, id2, _c3.
        """
        name = (self.header or ())[number]
        own = name.lower()
        if name == self.null_value:
            return (own, "")
        if not self.is_inferred:
            return (own,)
        if name == f"_c{number}":
            return (own, "")
        return (own, own.removesuffix(str(number))) if own.endswith(str(number)) else (own,)

    def _quote_pattern(self) -> tuple[str, str] | None:
        """Return the quote, and a pattern of lines whose quotes are closed; None if the files have no quotes."""
        options = self._options
        quote = options.get("quote", '"')[:1]
        separator = options.get("sep", options.get("delimiter", ",")) or ","
        escape = options.get("escape", "\\")[:1] or "\\"
        if quote in ("", "\x00"):
            return None
        q, e, s = _hex(quote), _hex(escape), "".join(map(_hex, _unescaped(separator)))
        inside = f"[^{q}]++|{q}{q}" if quote == escape else f"[^{q}{e}]++|{e}."
        if before := options.get("chartoescapequoteescaping", "")[:1]:
            inside = f"{_hex(before)}{e}|{inside}".replace(f"[^{q}{e}]", f"[^{q}{e}{_hex(before)}]")
            inside += f"|{_hex(before)}"
        blanks = "" if separator.startswith(" ") else " *+"
        field = rf"(?:{blanks}{q}(?:{inside})*+{q}{blanks}|(?!{blanks}{q})(?:(?!{s}).)*+)"
        return quote, rf"(?s)\A{field}(?:{s}{field})*+\z"


def list_lines(
    connector: FileConnector, spark: SparkSession, folders: StructType | None = None
) -> DataFrame:
    """Return the lines of a source's files, and the columns of their folders; their types are Spark's, or given."""
    options = reveal_all({n.lower(): v for n, v in connector.spark_options().items()})
    if connector.spark_format.lower() == "json" and options.get("multiline", "").lower() == "true":
        options["wholetext"] = "true"
    reader = spark.read.format("text")
    reader = reader.options(**{name: value for name, value in options.items() if name in _OF_LINES})
    line = StructField(_RECORD, StringType())
    return reader.schema(StructType([line, *(folders or ())])).load(connector.path)


def _struct_of(misfits: Sequence[Misfit]) -> str:
    """Return the struct of REJECTS for the misfit whose number a row has: little code, since it is seldom run.

    It is part of the generator, for which Spark generates code only if it does for each expression in it.
    """

    def chosen(values: Iterable[str | None]) -> str:
        listed = ", ".join(
            "CAST(NULL AS STRING)" if each is None else literal(each) for each in values
        )
        return f"array({listed})[{_MISFIT}]" if listed else "CAST(NULL AS STRING)"

    path = chosen(None if each.field is None else f"$['{each.field}']" for each in misfits)
    return (
        f"named_struct('file', {_FILE}, 'record', {_RECORD}, "
        f"'column', {chosen(each.column for each in misfits)}, "
        f"'text', get_json_object(to_json({_FIELDS}), {path}), "
        f"'reason', {chosen(each.reason for each in misfits)})"
    )


def _value(number: int) -> str:
    """Return the name of a value, which may not be that of its column: names could be those of fields."""
    return f"{_OURS}{number}"


def _odd_keys(
    json: str, fields: str, columns: StructType, allowed: str, depth: int
) -> Iterator[str]:
    """Yield conditions: whether an object has a key that is a column's name in another case, where that is missing.

    `json` is the object's text, `fields` the parsed object. `json_object_keys` knows strict JSON only: no NaN.
    """
    texts = {column.name: f"{fields}.{quoted(column.name)}" for column in columns}
    missing = " OR ".join(f"{text} IS NULL" for text in texts.values())
    exact = ", ".join(map(literal, texts))
    lower = ", ".join(literal(name.lower()) for name in texts)
    key, in_map = f"key{depth}", f"from_json({json}, 'MAP<STRING, STRING>'{allowed})"
    is_odd = f"lower({key}) IN ({lower}) AND {key} NOT IN ({exact})"
    if columns.names:
        keys = f"coalesce(json_object_keys({json}), map_keys({in_map}))"
        yield f"CASE WHEN {missing} THEN coalesce(exists({keys}, {key} -> {is_odd}), false) ELSE false END"
    for column in columns:
        text = texts[column.name]
        inner = f"{in_map}[{literal(column.name)}]"
        if isinstance(column.dataType, StructType):
            for odd in _odd_keys(inner, text, column.dataType, allowed, depth + 1):
                yield f"CASE WHEN {text} IS NOT NULL THEN {odd} ELSE false END"


def _hex(character: str) -> str:
    return rf"\x{{{ord(character):x}}}"


def _unescaped(separator: str) -> str:
    r"""Return a separator as Spark reads it: `\t` is a tab."""
    return {"\\t": "\t", "\\\\": "\\"}.get(separator, separator)
