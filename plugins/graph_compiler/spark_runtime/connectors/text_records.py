"""Records of CSV, JSON and text files: each has exactly the expected columns, or is a misfit with its reason.

    line  →  its fields as text  →  their values  →  (values …, misfit)  →  what `on_misfit` says

Spark's own readers check only what a query needs: the columns that are read, of the rows that a pushed filter leaves.
Here all fields of a record are checked before anything else sees them. `inline` separates the two: Spark pushes no
filter through a generator, and computes its struct once. Spark's reader of lines is ten times as fast as that of CSV,
and `from_csv` is the parser of both, so this costs little more (docs/connectors.md).

Where a quoted field of CSV may contain the end of a line (`multiLine`), and in other encodings, records are no lines.
Spark's own reader then finds the text of each record; the rest is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import from_csv, from_json
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

from graph_compiler.declaration.connectors import RecordFiles
from graph_compiler.declaration.connectors.spark_options import OF_FILES, OF_STREAMS, charset_to_decode
from graph_compiler.errors import ConfigurationError, Problem
from graph_compiler.identifiers import listing, quoted
from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.columns.strict_values import TextFormat, sql_literal
from graph_compiler.spark_runtime.connectors.json_numbers import items_of_list, overflows, with_exact_numbers
from graph_compiler.spark_runtime.connectors.source import MISFIT
from graph_compiler.spark_runtime.positions.new_files import paths_of
from graph_compiler.spark_runtime.results.pinned_settings import pinned
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.file_listings import load_files, stream_files
from graph_compiler.spark_runtime.spark_internals.java import decimal_symbols

MARK = "graph_compiler misfit: "
"""The start of the message with which a misfit fails; the struct follows as JSON."""
WRONG_ENCODING = "it has bytes that are not of its encoding"
OPEN_QUOTE = "a quote is not closed in its line, or text follows a closing quote"
OPEN_TO_THE_END = "a quote is not closed, or text follows a closing quote"
"""The same where quotes may continue in the next line."""
WRONG_NUMBER = "it does not have as many fields as there are columns"
NOT_XML = "it is not well-formed XML, or not valid by its XSD"
NOT_JSON = "it is not one JSON object, or a field in it has another type"
ODD_KEY = "one of its keys differs from the name of a column in case only"
HALF_A_PAIR = "it has half of a surrogate pair (\\ud800 or the like), which is no character"
OTHER_FOLDER = "it has a key with the name of its folder's column, and another value"
IS_NULL = "it is NULL, and the column is NOT NULL"
LINE_BREAK = "it has a line break outside quotes, and other lines of the file end in another way"
_MORE = 100
"""Additional columns, so that Spark's reader reports each record as malformed, with its text."""
TOO_MANY = f"it has {_MORE} more fields than there are columns, so Spark does not report its text"
NOT_SET_ASIDE = (TOO_MANY, OPEN_QUOTE, OPEN_TO_THE_END, LINE_BREAK, NOT_XML)
"""After these, it is unknown where the next record begins, or what was read, so they always fail the task."""
_OURS = "graph_compiler_"
OUR_RECORD, OUR_FILE, OUR_FIELDS, OUR_CORRUPT, _MISFIT = (
    f"{_OURS}{name}" for name in ("record", "file", "fields", "corrupt", "number")
)
_LISTING = frozenset(name.lower() for name in (*OF_FILES, *OF_STREAMS)) - {"timezone"}
_OF_LINES = _LISTING | {"linesep", "compression", "wholetext"}
_SET_HERE = frozenset({"mode", "columnnameofcorruptrecord", "inferschema", "enforceschema", "header"})
_NOT_OF_LINES = _OF_LINES | _SET_HERE | {"multiline", "encoding", "charset"}
"""Options that do not say how the text of one record is parsed."""
_TIME_PARSER = "spark.sql.legacy.timeParserPolicy"
_DECODES_AS_READERS = {"spark.sql.legacy.javaCharsets": "true", "spark.sql.legacy.codingErrorAction": "true"}
"""Settings with which `decode` knows all encodings, and writes � for bytes that it cannot read."""
_MOST_FILES = 10
"""In a message."""
_MOST_ASKED = 1_000
"""Files without a header that may be empty; if there are more, a message about these is enough."""
_REPLACEMENT = "\ufffd"
_BYTE_ORDER_MARK = "\ufeff"
_WHOLE_CHARACTERS = r"(?is)\A(?:[^\\]++|\\ud[89ab]..\\ud[c-f]..|\\(?!ud[89a-f]).)*+\z"
"""A record whose escapes are characters, or both halves of one."""
_HAS_HALF_A_PAIR = (
    rf"(contains({OUR_RECORD}, '\\ud') OR contains({OUR_RECORD}, '\\uD')) "
    rf"AND NOT {OUR_RECORD} RLIKE {sql_literal(_WHOLE_CHARACTERS)}"
)
_BETWEEN = "\x01"
"""A character between the names of a header."""


@dataclass(frozen=True, slots=True)
class MisfitRule:
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
    first line of each file, None if there is no such line. `stream` are marks of a stream's source (`stream_files`).
    """

    connector: RecordFiles
    listed: DataFrame
    columns: StructType
    folders: StructType
    header: Sequence[str] | None
    is_inferred: bool
    stream: Mapping[str, str] | None = None

    def read(self) -> DataFrame:
        """Return the rows; if the source has `rejects`, also the misfits, with the column MISFIT.

        Each projection is a method of Spark's generated code, and the JVM compiles no long ones.
        """
        read = self._with_fields(self._records())
        folders = [quoted(name) for name in self.folders.names]
        own, misfits = [OUR_RECORD, OUR_FILE, OUR_FIELDS], tuple(self._misfits())
        values = [f"{self._value(number)} AS {_value(number)}" for number in range(len(self.columns))]
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

    def _checked_row(self, misfits: Sequence[MisfitRule]) -> str:
        """Return a list of the record's row; of a header, none. It fails for a misfit that may not continue.

        The generator is the last place where each record is seen: Spark moves filters before other filters.
        """
        misfit, fails = _struct_of(misfits, self._record_text()), f"{_MISFIT} IS NOT NULL"
        fields = [
            f"{sql_literal(field.name)}, {self._checked_value(number, field)}"
            for number, field in enumerate(self.columns)
        ]
        # Also where it is not used, for it has the whole struct of fields. If a generator has only fields of a struct,
        # and nothing is above it, Spark (4.3) adds a column to its rows: "Generate without Project" in its optimizer.
        if self.connector.continues_after_misfits:
            fields.append(f"'{MISFIT}', CASE WHEN {_MISFIT} IS NOT NULL THEN {misfit} END")
            never = [str(n) for n, each in enumerate(misfits) if each.reason in NOT_SET_ASIDE]
            fails = f"{_MISFIT} IN ({', '.join(never)})" if never else "false"
        fail = f"raise_error(concat('{MARK}', to_json({misfit})))"
        header = self._is_header()
        is_header = "" if header is None else f"WHEN {header} THEN NULL "
        row = f"array(named_struct({', '.join(fields)}))"
        return f"CASE {is_header}WHEN {fails} THEN {fail} ELSE {row} END"

    def without_one_header(self) -> list[tuple[str, int]]:
        """Return some files with another number of headers than one; reads all lines, and parses few of them."""
        lines = self._records()
        # Names of other characters may be written in several ways.
        shortest = (self._written(number)[-1] for number in range(len(self.header or ())))
        names = (name for name in shortest if name.isascii() and name.isidentifier())
        longest = max(names, key=len, default="")
        may_be = lines.where(f"contains(lower({OUR_RECORD}), {sql_literal(longest)})")
        headers = self._with_fields(may_be).where(self._is_header() or "false")
        counts = {str(file): int(count) for file, count in headers.groupBy(OUR_FILE).count().collect()}
        # Spark writes the names of local files in two ways.
        files = (re.sub(r"\Afile:///", "file:/", file) for file in self.listed.inputFiles())
        others = [file for file in files if file not in counts][:_MOST_ASKED]
        if others:  # they may have no lines
            without = lines.where(f"{OUR_FILE} IN ({', '.join(map(sql_literal, others))})")
            counts |= {str(file): 0 for (file,) in self._with_fields(without).select(OUR_FILE).distinct().collect()}
        return sorted((file, count) for file, count in counts.items() if count != 1)[:_MOST_FILES]

    @property
    def _format(self) -> str:
        return self.connector.spark_format.lower()

    @cached_property
    def _options(self) -> dict[str, str]:
        """Return the options by name in lower case: Spark ignores case."""
        return reveal_all({n.lower(): v for n, v in self.connector.spark_options().items()})

    @cached_property
    def has_lines(self) -> bool:
        """Whether each record is a line, or a whole file of JSON; if not, Spark's reader of CSV finds the records."""
        return self._format != "csv" or (self._encoding is None and not self.connector.is_multi_line)

    @cached_property
    def _encoding(self) -> str | None:
        """Return the declared encoding; None for UTF-8. Text has none: its lines are bytes."""
        return None if self._format == "text" else charset_to_decode(self._options)

    @property
    def null_value(self) -> str:
        """Return the text of a missing value."""
        return self._options.get("nullvalue", "")

    @cached_property
    def _texts(self) -> TextFormat:
        options = self._options
        self._refuse_lenient_patterns()
        decimal, grouping = None, None
        if self._format in ("csv", "xml") and "locale" in options:
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
            is_xml=self._format == "xml",
        )

    def _refuse_lenient_patterns(self) -> None:
        """Raise ConfigurationError if patterns of dates and times also take other texts in this session."""
        named = [name for name in ("dateFormat", "timestampFormat") if name.lower() in self._options]
        if named and (self.listed.sparkSession.conf.get(_TIME_PARSER, None) or "").upper() == "LEGACY":
            problem = Problem(
                message=f"it is LEGACY: {listing(named)} would take the beginning of a text, and years of two digits",
                allowed="CORRECTED or EXCEPTION for a source whose records are checked",
                hint=f"config={{'{_TIME_PARSER}': 'CORRECTED'}} of the pipeline",
            )
            raise ConfigurationError(_TIME_PARSER, [problem])

    def _records(self) -> DataFrame:
        """Return the texts of the records with the names of their files; of JSON with `multiLine`, whole files."""
        if not self.has_lines:
            return self._records_of_spark()
        folders = [quoted(name) for name in self.folders.names]
        listed = self.listed
        if folders:
            listed = list_lines(self.connector, listed.sparkSession, self.folders, stream=self.stream)
        record = OUR_RECORD
        if self._encoding is not None:
            record = f"decode(CAST({OUR_RECORD} AS BINARY), {sql_literal(self._encoding)}) AS {OUR_RECORD}"
        with pinned(self.listed.sparkSession, _DECODES_AS_READERS):
            return listed.selectExpr(record, f"_metadata.file_path AS {OUR_FILE}", *folders)

    def _with_fields(self, lines: DataFrame) -> DataFrame:
        """Add the fields of each line, as text."""
        if self._format == "text":
            return lines.selectExpr("*", f"named_struct('c0', {OUR_RECORD}) AS {OUR_FIELDS}")
        options = {n: v for n, v in self._options.items() if n not in _NOT_OF_LINES}
        options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": OUR_CORRUPT}
        # Spark's own reader of records has left out blank lines, and comments.
        if self.has_lines or len(self.columns) > 1:
            lines = lines.where(f"{OUR_RECORD} IS NULL OR {OUR_RECORD} >= '!' OR trim({OUR_RECORD}) <> ''")
        if self._format == "csv":
            if self.has_lines and (comment := options.get("comment")):
                lines = lines.where(f"{OUR_RECORD} IS NULL OR NOT startswith({OUR_RECORD}, {sql_literal(comment)})")
            names = ", ".join(f"c{number} STRING" for number in range(len(self.columns)))
            parsed = from_csv(OUR_RECORD, f"{names}, {OUR_CORRUPT} STRING", options)
            return lines.withColumn(OUR_FIELDS, parsed)
        folders = [quoted(name) for name in self.folders.names]
        # Hadoop's reader of lines leaves out a byte order mark; that of whole files does not.
        marked = f"startswith({OUR_RECORD}, '{_BYTE_ORDER_MARK}')"
        unmarked = f"CASE WHEN {marked} THEN substr({OUR_RECORD}, 2) ELSE {OUR_RECORD} END AS {OUR_RECORD}"
        # A line, and a file, may be one list of objects.
        items = items_of_list(OUR_RECORD, self._allowed)
        listed = f"startswith(ltrim({OUR_RECORD}), '[') AND NOT ({_HAS_HALF_A_PAIR})"
        records = lines.selectExpr(OUR_FILE, *folders, unmarked).selectExpr(
            OUR_FILE,
            *folders,
            f"explode(CASE WHEN {listed} THEN coalesce({items}, array({OUR_RECORD})) "
            f"ELSE array({OUR_RECORD}) END) AS {OUR_RECORD}",
        )
        corrupt = StructField(OUR_CORRUPT, StringType())
        schema = StructType([*self._texts.text_type(self.columns), corrupt])  # type: ignore[misc]
        objects = records.withColumn(OUR_FIELDS, from_json(OUR_RECORD, schema, options))
        return with_exact_numbers(objects, OUR_FIELDS, self.columns, options, record=OUR_RECORD)

    @property
    def _allowed(self) -> str:
        """Return the options that say what else is JSON, as the last argument of `from_json` in SQL."""
        allowed = ", ".join(
            f"{sql_literal(name)}, {sql_literal(value)}"
            for name, value in self._options.items()
            if name.startswith("allow")
        )
        return f", map({allowed})" if allowed else ""

    def _parsed(self, text: str, kind: str) -> str:
        """Return an expression for what JSON is parsed to."""
        return f"from_json({text}, '{kind}'{self._allowed})"

    def _records_of_spark(self) -> DataFrame:
        """Return the texts of the records of CSV as Spark's own reader finds them.

        Its column of malformed records has them as they are in the file. All are malformed: they have too few fields.
        """
        options = {n: v for n, v in self._options.items() if n not in _SET_HERE}
        options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": OUR_CORRUPT}
        options |= {"columnPruning": "false", "multiLine": "true"}
        texts = [StructField(_value(n), StringType()) for n in range(len(self.columns) + _MORE)]
        corrupt = StructField(OUR_CORRUPT, StringType())
        found = load_as(
            self.connector,
            self.listed.sparkSession,
            "csv",
            options,
            StructType([*texts, *self.folders, corrupt]),
            stream=self.stream,
        )
        record = OUR_CORRUPT
        if end := options.get("linesep"):  # Spark leaves out only line breaks
            ends = f"endswith({record}, {sql_literal(end)})"
            record = f"CASE WHEN {ends} THEN left({record}, length({record}) - {len(end)}) ELSE {record} END"
        unknown = f"concat(coalesce({_value(0)}, ''), {self._many_separators()})"
        folders = [quoted(name) for name in self.folders.names]
        return found.selectExpr(
            f"coalesce({record}, {unknown}) AS {OUR_RECORD}", f"_metadata.file_path AS {OUR_FILE}", *folders
        )

    def _many_separators(self) -> str:
        """Return the end of a record that has as many fields as Spark's reader has columns, so its text is unknown."""
        return sql_literal(self._separator * (len(self.columns) + _MORE - 1))

    def _record_text(self) -> str:
        """Return the expression of a record's text for messages and rejects."""
        return OUR_RECORD

    def _text(self, number: int) -> str:
        """Return the expression of a field's text."""
        return f"{OUR_FIELDS}.{quoted(self._field(number))}"

    def _field(self, number: int) -> str:
        return f"c{number}" if self._format in ("csv", "text") else self.columns[number].name

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
        misfits = " OR ".join(self._misfits_of_value(number, field))
        return f"CASE WHEN {misfits} THEN NULL ELSE {value} END" if misfits else value

    def _is_misencoded(self, text: str) -> str:
        """Return a condition: whether bytes were replaced when this text was decoded."""
        if self._format == "text":
            return f"NOT is_valid_utf8({text})"
        replaced = f"contains({text}, '{_REPLACEMENT}')"
        has_bytes = self.has_lines and self._encoding is None
        return f"{replaced} AND NOT is_valid_utf8({OUR_RECORD})" if has_bytes else replaced

    def _misfits(self) -> Iterator[MisfitRule]:
        """Yield what may be wrong, in the order in which it is asked."""
        if self.has_lines:
            replaced = f"contains({OUR_RECORD}, '{_REPLACEMENT}')"
            is_wrong = f"NOT is_valid_utf8({OUR_RECORD})" if self._encoding is None else replaced
            yield MisfitRule(is_wrong, WRONG_ENCODING)
        if self._format == "csv":
            yield from self._misfits_of_csv()
        if self._format == "json":
            yield from self._misfits_of_json()
        for number, field in enumerate(self.columns):
            yield from self._misfits_of(number, field)
        yield from self._misfits_of_folders()

    def _misfits_of_folders(self) -> Iterator[MisfitRule]:
        required = [field.name for field in self.folders if not field.nullable]
        yield from (MisfitRule(f"{quoted(name)} IS NULL", IS_NULL, name) for name in required)

    def _misfits_of_csv(self) -> Iterator[MisfitRule]:
        quote = self._quote
        if not self.has_lines:
            yield MisfitRule(f"endswith({OUR_RECORD}, {self._many_separators()})", TOO_MANY)
        if quote is not None:
            closed = f"{OUR_RECORD} RLIKE {sql_literal(self._closed(quote, '.'))}"
            reason = OPEN_QUOTE if self.has_lines else OPEN_TO_THE_END
            yield MisfitRule(f"contains({OUR_RECORD}, {sql_literal(quote)}) AND NOT {closed}", reason)
        if not self.has_lines and "linesep" not in self._options:
            one_line = sql_literal(r"\A[^\r\n]*+\z" if quote is None else self._closed(quote, r"[^\r\n]"))
            breaks = f"(contains({OUR_RECORD}, '\n') OR contains({OUR_RECORD}, '\r'))"
            yield MisfitRule(f"{breaks} AND NOT {OUR_RECORD} RLIKE {one_line}", LINE_BREAK)
        yield MisfitRule(f"{OUR_FIELDS} IS NULL OR {OUR_FIELDS}.{OUR_CORRUPT} IS NOT NULL", WRONG_NUMBER)

    def _misfits_of_json(self) -> Iterator[MisfitRule]:
        is_object = f"{OUR_FIELDS} IS NOT NULL AND {OUR_FIELDS}.{OUR_CORRUPT} IS NULL"
        # Mostly, the first closing brace is the last character, and there can be no second object.
        whole = f"from_json(concat('[', {OUR_RECORD}, '\\n, 1]'), 'ARRAY<STRING>'{self._allowed})"
        one = f"locate('}}', {OUR_RECORD}) = length(rtrim({OUR_RECORD})) OR size({whole}) = 2"
        yield MisfitRule(f"NOT coalesce({is_object} AND ({one}), false)", NOT_JSON)
        yield MisfitRule(_HAS_HALF_A_PAIR, HALF_A_PAIR)
        yield from map(self._another_folder, self.folders)
        parsed = self._texts.text_type(self.columns)
        if odd := self._odd_keys(parsed, OUR_RECORD, OUR_FIELDS, 0):
            yield MisfitRule(f"CASE WHEN {_has_missing(parsed, OUR_FIELDS, 0)} THEN {odd} ELSE false END", ODD_KEY)

    def _another_folder(self, folder: StructField) -> MisfitRule:
        """Return the rule for a key with the name of a folder's column: Spark reads the folder's value."""
        key = sql_literal(f'"{folder.name}"')
        own = f"get_json_object({OUR_RECORD}, {sql_literal(f'$[{chr(39)}{folder.name}{chr(39)}]')})"
        same = f"{self._texts.value(own, folder.dataType)} <=> {quoted(folder.name)}"
        return MisfitRule(f"contains({OUR_RECORD}, {key}) AND {own} IS NOT NULL AND NOT ({same})", OTHER_FOLDER)

    def _odd_keys(self, kind: DataType, json: str, value: str, depth: int) -> str | None:
        """Return a condition: whether an object has a key that is a name in another case, where that is missing.

        `json` is the text of a value, `value` is what it was parsed to. None if it contains no objects with fields.
        """
        if isinstance(kind, StructType):
            return " OR ".join(self._odd_keys_of(kind, json, value, depth)) or None
        item = kind.elementType if isinstance(kind, ArrayType) else None
        item = kind.valueType if isinstance(kind, MapType) else item
        odd = item and self._odd_keys(item, f"json{depth}", f"value{depth}", depth + 1)
        if not odd:
            return None
        texts, values = self._parsed(json, "ARRAY<STRING>"), value
        if isinstance(kind, MapType):
            texts, values = (f"map_values({self._parsed(json, 'MAP<STRING, STRING>')})", f"map_values({value})")
        found = f"zip_with({texts}, {values}, (json{depth}, value{depth}) -> {odd})"
        return f"coalesce(exists({found}, is_odd{depth} -> is_odd{depth}), false)"

    def _odd_keys_of(self, kind: StructType, json: str, value: str, depth: int) -> Iterator[str]:
        texts = {field.name: f"{value}.{quoted(field.name)}" for field in kind}
        members = self._parsed(json, "MAP<STRING, STRING>")
        if texts:
            missing = " OR ".join(f"{text} IS NULL" for text in texts.values())
            lower = ", ".join(sql_literal(name.lower()) for name in texts)
            key = f"key{depth}"
            is_odd = f"lower({key}) IN ({lower}) AND {key} NOT IN ({', '.join(map(sql_literal, texts))})"
            keys = f"coalesce(json_object_keys({json}), map_keys({members}))"  # the first knows no options
            yield f"CASE WHEN {missing} THEN coalesce(exists({keys}, {key} -> {is_odd}), false) ELSE false END"
        for field in kind:
            inner = f"{members}[{sql_literal(field.name)}]"
            if odd := self._odd_keys(field.dataType, inner, texts[field.name], depth + 1):
                yield f"CASE WHEN {texts[field.name]} IS NOT NULL THEN {odd} ELSE false END"

    def _misfits_of(self, number: int, field: StructField) -> Iterator[MisfitRule]:
        text, kind, own = self._text(number), field.dataType, self._field(number)
        is_plain = not isinstance(kind, StructType | ArrayType | MapType)
        if not field.nullable:
            yield MisfitRule(f"{text} IS NULL", IS_NULL, field.name)
        if not self.has_lines and is_plain:
            replaced = f"coalesce({self._is_misencoded(text)}, false)"
            yield MisfitRule(replaced, WRONG_ENCODING, field.name, own)
        for misfit in self._misfits_of_value(number, field):
            yield MisfitRule(misfit, f"it does not fit {type_words(kind)}", field.name, own)

    def _misfits_of_value(self, number: int, field: StructField) -> list[str]:
        text, kind = self._text(number), field.dataType
        infinite = overflows(kind, text, OUR_RECORD) if self._format == "json" else None
        return list(filter(None, (infinite, self._texts.misfit(text, _value(number), kind))))

    def _is_header(self) -> str | None:
        """Return a condition: whether a line has the names of the columns; None if files have no such line."""
        if self.header is None:
            return None
        allowed = {number: self._written(number) for number in range(len(self.header))}
        exact = {number: texts[0] for number, texts in allowed.items() if len(texts) == 1}
        others = [
            f"lower(coalesce({self._text(number)}, '')) IN ({', '.join(map(sql_literal, texts))})"
            for number, texts in allowed.items()
            if len(texts) > 1
        ]
        if not exact:
            return f"({' AND '.join(others)})"
        texts = ", ".join(f"coalesce({self._text(number)}, '')" for number in exact)
        first, name = next(iter(exact.items()))
        is_first = f"lower({self._text(first)}) = {sql_literal(name)}"
        if name.isascii():  # seldom true, and cheap
            is_first = f"octet_length({self._text(first)}) = {len(name)} AND {is_first}"
        whole = f"lower(concat_ws('{_BETWEEN}', {texts})) = {sql_literal(_BETWEEN.join(exact.values()))}"
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

    @property
    def _separator(self) -> str:
        r"""Return what is between fields, as Spark reads it: `\t` is a tab."""
        separator = self._options.get("sep", self._options.get("delimiter", ",")) or ","
        return {"\\t": "\t", "\\\\": "\\"}.get(separator, separator)

    @property
    def _quote(self) -> str | None:
        """Return the quote; None if the files have no quotes."""
        quote = self._options.get("quote", '"')[:1]
        return None if quote in ("", "\x00") else quote

    def _closed(self, quote: str, plain: str) -> str:
        """Return a pattern of records whose quotes are closed; `plain` matches a character outside quotes."""
        options, separator = self._options, self._separator
        escape = options.get("escape", "\\")[:1] or "\\"
        q, e, s = _hex(quote), _hex(escape), "".join(map(_hex, separator))
        inside = f"[^{q}]++|{q}{q}" if quote == escape else f"[^{q}{e}]++|{e}."
        if before := options.get("chartoescapequoteescaping", "")[:1]:
            inside = f"{_hex(before)}{e}|{inside}".replace(f"[^{q}{e}]", f"[^{q}{e}{_hex(before)}]")
            inside += f"|{_hex(before)}"
        blanks = "" if separator.startswith(" ") else " *+"
        field = rf"(?:{blanks}{q}(?:{inside})*+{q}{blanks}|(?!{blanks}{q})(?:(?!{s}){plain})*+)"
        return rf"(?s)\A{field}(?:{s}{field})*+\z"


def load_as(
    connector: RecordFiles,
    spark: SparkSession,
    format: str,
    options: Mapping[str, str],
    columns: StructType,
    *,
    stream: Mapping[str, str] | None,
) -> DataFrame:
    """Load a source's files in a format with given columns; with `stream`, as a stream."""
    if stream is not None:
        return stream_files(spark, connector.one_path, format, {**options, **stream}, columns)
    return load_files(spark.read.format(format).options(**options).schema(columns), paths_of(connector))


def list_lines(
    connector: RecordFiles,
    spark: SparkSession,
    folders: StructType | None = None,
    *,
    stream: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the lines of a source's files, and the columns of their folders; their types are Spark's, or given."""
    options = reveal_all({n.lower(): v for n, v in connector.spark_options().items()})
    more: dict[str, str] = {}
    if connector.spark_format.lower() == "json":
        if connector.is_multi_line:
            more["wholetext"] = "true"
        elif encoding := charset_to_decode(options):  # that of the ends of lines
            more["encoding"] = encoding
    known = {name: value for name, value in options.items() if name in _OF_LINES}
    line = StructField(OUR_RECORD, StringType())
    columns = StructType([line, *(folders or ())])
    return load_as(connector, spark, "text", known | more, columns, stream=stream)


def _struct_of(misfits: Sequence[MisfitRule], record: str) -> str:
    """Return the struct of REJECTS for the misfit whose number a row has: little code, since it is seldom run.

    It is part of the generator, for which Spark generates code only if it does for each expression in it.
    """

    def chosen(values: Iterable[str | None]) -> str:
        listed = ", ".join("CAST(NULL AS STRING)" if each is None else sql_literal(each) for each in values)
        return f"array({listed})[{_MISFIT}]" if listed else "CAST(NULL AS STRING)"

    path = chosen(None if each.field is None else f"$['{each.field}']" for each in misfits)
    return (
        f"named_struct('file', {OUR_FILE}, 'record', {record}, "
        f"'column', {chosen(each.column for each in misfits)}, "
        f"'text', get_json_object(to_json({OUR_FIELDS}), {path}), "
        f"'reason', {chosen(each.reason for each in misfits)})"
    )


def _value(number: int) -> str:
    """Return the name of a value, which may not be that of its column: names could be those of fields."""
    return f"{_OURS}{number}"


def _has_missing(kind: DataType, value: str, depth: int) -> str:
    """Return a condition: whether an object in a value has no value for one of its fields."""
    if isinstance(kind, StructType):
        texts = [(field, f"{value}.{quoted(field.name)}") for field in kind]
        missing = [f"{text} IS NULL" for _, text in texts]
        inner = [_has_missing(field.dataType, text, depth) for field, text in texts]
        return " OR ".join(each for each in [*missing, *inner] if each != "false") or "false"
    item = kind.elementType if isinstance(kind, ArrayType) else None
    item = kind.valueType if isinstance(kind, MapType) else item
    missing_in = "false" if item is None else _has_missing(item, f"item{depth}", depth + 1)
    if missing_in == "false":
        return "false"
    items = f"map_values({value})" if isinstance(kind, MapType) else value
    return f"coalesce(exists({items}, item{depth} -> {missing_in}), false)"


def _hex(character: str) -> str:
    return rf"\x{{{ord(character):x}}}"
