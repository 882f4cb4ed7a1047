"""Read files of any format that Spark has.

CSV, JSON, text and XML are read as records whose fields are all checked (`text_records`). All other formats contain
types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from urllib.parse import unquote

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import DataType, DateType, NumericType, StructType, TimestampNTZType, TimestampType

from graph_compiler.declaration.connectors import FileConnector, RecordFiles
from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.declaration.connectors.files import UNTYPED, SchemaInFiles, plain_place
from graph_compiler.deployment.documents.jvm_settings import STRICT_SOURCES
from graph_compiler.errors import SchemaChangedError
from graph_compiler.identifiers import shown
from graph_compiler.spark_runtime.columns.declared_schema import parse_schema
from graph_compiler.spark_runtime.connectors.first_bytes import encoding_hints, is_utf8
from graph_compiler.spark_runtime.connectors.folder_values import refuse_columns_in_both
from graph_compiler.spark_runtime.connectors.missing_files import columns_of_no_rows, rows_if_missing
from graph_compiler.spark_runtime.connectors.source import Found, Reading, as_declared, infers, read, read_source
from graph_compiler.spark_runtime.connectors.text_records import TextFiles, list_lines
from graph_compiler.spark_runtime.connectors.typed_files import (
    TypedFiles,
    has_not_null,
    held_schema,
    no_columns,
    or_no_files,
)
from graph_compiler.spark_runtime.connectors.xml_records import XmlFiles
from graph_compiler.spark_runtime.failures.causes import read_cause
from graph_compiler.spark_runtime.positions.new_files import paths_of, reads_nothing, with_base
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.file_listings import (
    PinnedPath,
    columns_in_files_and_folders,
    load_files,
    stream_files,
)
from graph_compiler.spark_runtime.spark_internals.hadoop_files import first_bytes, orc_columns, parquet_columns
from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError, lit

_CORRUPT = "_corrupt_record"
_UNREADABLE = re.compile("[\ufffd\\0]")
_WIDE = ("UTF-16", "UTF-32")
"""Encodings with several bytes in each character; their names may end in the order of these."""
_MOST_FILES = 20
"""Whose first bytes are read, to find the one that cannot be read."""
_MOST_FOOTERS = 64
_TELLING = (NumericType, DateType, TimestampType, TimestampNTZType)
"""Types of columns whose name, read as a value, does not fit."""


@read.register
def _(connector: FileConnector, reading: Reading) -> Found:
    connector, spark = with_base(connector), reading.spark
    if reads_nothing(connector):
        return _no_rows(connector, spark)
    if (found := rows_if_missing(connector, spark)) is not None:
        return found
    if spark.conf.get(STRICT_SOURCES, "true") == "false":
        return _as_before(connector, spark)
    if isinstance(connector, RecordFiles) and _has_records(connector):
        return _checked(connector, reading)
    if connector.schema_in_files is SchemaInFiles.TYPES:
        return _typed(connector, spark)
    held = _columns(connector, reading)
    return Found(rows=load_files(_reader(connector, spark).schema(held), paths_of(connector)), schema=held)


def read_stream(connector: FileConnector, spark: SparkSession, marks: Mapping[str, str]) -> DataFrame:
    """Return the rows of files that arrive, as a stream, with the declared columns.

    `marks` are options that no reader has. The fields of text files are checked with each row. The rest is checked for
    the files of each batch.
    """
    if isinstance(connector, RecordFiles) and _has_records(connector):
        if connector.has_header:
            _refuse_unseen_headers(connector)
        found = _checked(connector, Reading(spark=spark, parallelism=None, scans=False), stream=marks)
    else:
        columns = parse_schema(str(connector.schema))
        options = {**reveal_all({**connector.read_options(), **connector.spark_options()}), **marks}
        rows = stream_files(spark, connector.one_path, connector.spark_format, options, columns)
        found = Found(rows=rows, schema=columns)
    return as_declared(connector, found)


def _has_records(connector: RecordFiles) -> bool:
    """Whether each record is checked here; XML is left to Spark's reader if it makes one VARIANT of each record."""
    if connector.spark_format.lower() != "xml":
        return connector.is_checked
    return "singlevariantcolumn" not in {name.lower() for name in connector.spark_options()}


def _declared(connector: FileConnector) -> str:
    return connector.schema or "value STRING"


def _refuse_unseen_headers(connector: RecordFiles) -> None:
    """Raise SchemaChangedError if a header with other names, or in another order, could be read as a record."""
    if connector.continues_after_misfits or not _tells(parse_schema(_declared(connector)), _null_value(connector)):
        raise SchemaChangedError(
            "its files have headers, and on a stream, one with other names could be read as a record\n"
            "  allowed: files with header=False; with a header, a column of numbers or dates in schema=, names that "
            "are no values, and on_misfit='fail'"
        )


@dataclass(slots=True)
class FooterColumns:
    """Compares the columns in footers with those that a source declares, for batch after batch."""

    connector: FileConnector
    spark: SparkSession
    _wanted: StructType | None = None
    _columns: Callable[[str], StructType] | None = None

    def are_declared(self, files: Sequence[str]) -> bool:
        """Whether it is known that files have exactly the declared columns."""
        reader = {"parquet": parquet_columns, "orc": orc_columns}.get(self.connector.spark_format.lower())
        if reader is None or len(files) > _MOST_FOOTERS:
            return False
        if self._wanted is None or self._columns is None:
            self._wanted, self._columns = parse_schema(str(self.connector.schema)), reader(self.spark)
        columns, wanted = self._columns, _names_and_types(self._wanted)
        if has_not_null(self._wanted):
            return False
        try:
            return all(_names_and_types(columns(file)) == wanted for file in files)
        except Py4JJavaError:  # a file of another kind: Spark's reader names it
            return False


def _names_and_types(columns: StructType) -> list[tuple[str, DataType]]:
    return [(field.name, field.dataType) for field in columns]


def check_files(footers: FooterColumns, files: Sequence[str]) -> None:
    """Raise what reading some files of a source raises if they have other columns than it declares.

    The query has checked the fields of text files, and a header in another order does not fit if one of its columns is
    a number or a date. The footers of a few files are read here. For all else, Spark is asked.
    """
    connector = footers.connector
    folders = {plain_place(file.rpartition("/")[0]) for file in files}
    has_folders = folders != {plain_place(connector.one_path)}
    if isinstance(connector, RecordFiles) and connector.is_checked and not has_folders:
        return
    if has_folders or not footers.are_declared(files):
        read_source(replace(connector, path=PinnedPath.of(connector.one_path, files)), footers.spark)


def _no_rows(connector: FileConnector, spark: SparkSession) -> Found:
    """Return no rows with the declared columns: there is no new file."""
    columns = [lit(None).cast(each.dataType).alias(each.name) for each in columns_of_no_rows(connector)]
    return Found(rows=spark.range(0).select(*columns), schema=parse_schema(str(connector.schema)))


def _columns(connector: FileConnector, reading: Reading) -> StructType:
    """Return the columns of files without types: as declared, or as Spark infers them, for which it reads the files."""
    if connector.schema is not None:
        return held_schema(connector, reading.spark, parse_schema(connector.schema))
    return reading.known(connector, partial(_inferred_columns, connector, reading.spark))


def _inferred_columns(connector: FileConnector, spark: SparkSession) -> StructType:
    reader = _reader(connector, spark)
    if connector.spark_format.lower() == "csv" and infers(connector):
        reader = reader.option("inferSchema", "true")
    try:
        rows = or_no_files(lambda: load_files(reader, paths_of(connector)))
    except AnalysisException as error:
        if error.getCondition() != "COLUMN_ALREADY_EXISTS":
            raise
        name = str((error.getMessageParameters() or {}).get("columnName")).strip("`")
        raise SchemaChangedError(
            f"keys or attributes below {connector.one_path} differ only in case: '{name}' is written in several ways\n"
            "  hint: declare schema=; then a message names each record with another key"
        ) from error
    if rows is not None and connector.has_header:
        refuse_columns_in_both(columns_in_files_and_folders(rows), connector.one_path)
    fields = [] if rows is None else [f for f in rows.schema if f.name != _CORRUPT]
    if rows is not None and rows.columns and not fields:
        raise SchemaChangedError(
            f"no line below {connector.one_path} is a record\n"
            '  hint: if each file is one object or one list over several lines, declare options={"multiLine": "true"}'
        )
    if not fields:
        raise no_columns(connector.one_path)
    return StructType(fields)


def _checked(connector: RecordFiles, reading: Reading, *, stream: Mapping[str, str] | None = None) -> Found:
    spark = reading.spark
    _refuse_options(connector)
    listed = list_lines(connector, spark, stream=stream)
    # The order of columns in a header that is there now says nothing of files to come.
    held = _columns(connector, reading) if stream is None else parse_schema(_declared(connector))
    folders = listed.schema.fields[1:]
    names = {field.name.lower() for field in folders}
    known = {field.name.lower(): field for field in held}
    columns = StructType([field for field in held if field.name.lower() not in names])
    _refuse_header_in_another_encoding(connector, columns, listed)
    _refuse_one_column(connector, columns)
    kind = XmlFiles if connector.spark_format.lower() == "xml" else TextFiles
    files = kind(
        connector=connector,
        listed=listed,
        columns=columns,
        folders=StructType([known.get(field.name.lower(), field) for field in folders]),
        header=columns.names if connector.has_header else None,
        is_inferred=connector.schema is None,
        stream=stream,
    )
    if reading.scans:
        _check_headers(files)
    if reading.scans and isinstance(files, XmlFiles):
        _check_row_tag(files)
    return Found(rows=files.read(), schema=held)


def _refuse_options(connector: FileConnector) -> None:
    """Raise SchemaChangedError for options with which the records of a source cannot be found, or not be checked."""
    options = {name.lower(): str(value) for name, value in connector.spark_options().items()}
    is_json = connector.spark_format.lower() == "json"
    encoding = (options.get("encoding") or options.get("charset") or "").upper()
    if "singlevariantcolumn" in options and not is_json:
        raise SchemaChangedError(
            "option 'singleVariantColumn' is not supported for CSV: Spark would choose each value's type by itself\n"
            "  hint: leave it out; without schema=, Spark infers one type for all values of a column"
        )
    if not is_json or connector.is_multi_line or not encoding.startswith(_WIDE):
        return
    if encoding in _WIDE or "linesep" not in options:
        order = encoding if encoding not in _WIDE else f"{encoding}LE"
        raise SchemaChangedError(
            f"the encoding is '{encoding}', and it is not known how lines end in it\n"
            f'  hint: if each line is an object, declare options={{"encoding": "{order}", "lineSep": "\\n"}}; '
            'if each file is one object or list, add "multiLine": "true"'
        )


def _refuse_header_in_another_encoding(connector: FileConnector, columns: StructType, listed: DataFrame) -> None:
    """Raise SchemaChangedError if a header has bytes that are not of its encoding: no column would have its name."""
    if not connector.has_header or not _UNREADABLE.search("".join(columns.names)):
        return
    files = list(islice(listed.inputFiles(), _MOST_FILES))
    heads = [(unquote(file), first_bytes(file)) for file in files]
    path, head = next(((f, h) for f, h in heads if not is_utf8(h, f)), (connector.one_path, b""))
    lines = [f"the header of the file {local_path(path) or path} has bytes that are not of its encoding"]
    for hint, option in encoding_hints(head, path):
        setting = "" if option is None else f'options={{"{option[0]}": "{option[1]}"}}'
        lines.append(f"  hint: {hint}{setting}")
    raise SchemaChangedError("\n".join(lines))


def _refuse_one_column(connector: RecordFiles, columns: StructType) -> None:
    """Raise SchemaChangedError if the only column has a name like a header with another separator, or a comment."""
    if not connector.has_header or len(columns) != 1:
        return
    if connector.schema is not None and len(parse_schema(connector.schema)) == 1:
        return
    options = {name.lower() for name in connector.spark_options()}
    (name,) = columns.names
    if connector.schema is not None and name.startswith("#") and "comment" not in options:
        raise SchemaChangedError(
            f"the first line of a file below {connector.one_path} begins with #: {shown(name)}\n"
            '  hint: if such lines are comments, declare options={"comment": "#"}'
        )
    found = next((each for each in (";", "\t", "|", ",") if each in name), None)
    if found is not None:
        written = "\\t" if found == "\t" else found
        one = "if it is one column, declare schema=" if connector.schema is None else "otherwise declare its name"
        raise SchemaChangedError(
            f"the header below {connector.one_path} is one column, {shown(name)}\n"
            f'  hint: if its fields have another separator, declare options={{"sep": "{written}"}}; {one}'
        )


def _check_headers(files: TextFiles) -> None:
    """Raise SchemaChangedError if a file has not exactly one header, where a header could be read as a record.

    In all other files, a header in another order is a record that does not fit: it has a name in a column of numbers.
    So it is only looked for if a misfit does not fail the task: the records after it would be read in the wrong order.
    """
    if files.header is None:
        return
    if _tells(files.columns, files.null_value) and not files.connector.continues_after_misfits:
        return
    wrong = files.without_one_header()
    if not wrong:
        return
    file, count = wrong[0]
    path, names = unquote(file), ", ".join(files.header)
    found = "does not have the header" if count == 0 else "has more than once the header"
    others = f"; so are {len(wrong) - 1} others" if wrong[1:] else ""
    raise SchemaChangedError(
        f"the file {local_path(path) or path} {found} {names}{others}\n"
        "  Spark would read records below a different header into the wrong columns\n"
        "  hint: declare one source for the files of each header"
    )


def _check_row_tag(files: XmlFiles) -> None:
    """Raise SchemaChangedError if a file of XML has elements, and none of them is a record."""
    if not (wrong := files.without_records()):
        return
    first, *others = wrong
    path, more = unquote(first.file), f"; so have {len(others)} others" if others else ""
    tag = next(str(value) for name, value in files.connector.spark_options().items() if name.lower() == "rowtag")
    hint = "declare the name of the element that is a record as rowTag"
    if first.similar is not None:
        hint = f'its element is {first.similar}: declare options={{"rowTag": "{first.similar}"}}'
    raise SchemaChangedError(
        f"the file {local_path(path) or path} has no element {tag}, which is its rowTag{more}\n"
        "  Spark would read no rows from it\n"
        f"  allowed: files with such elements, and files that have nothing below their root\n  hint: {hint}"
    )


def _tells(columns: StructType, null_value: str) -> bool:
    """Whether a header in any order is a misfit: a column of numbers or dates, and no name that could be a value."""
    is_name = re.compile(r"(?!nan$|[+-]?inf)[^\d+.\-]", re.IGNORECASE)
    are_names = all(is_name.match(name) and name != null_value for name in columns.names)
    return are_names and any(isinstance(field.dataType, _TELLING) for field in columns)


def _null_value(connector: FileConnector) -> str:
    options = {name.lower(): value for name, value in connector.spark_options().items()}
    return str(options.get("nullvalue", ""))


def _reader(connector: FileConnector, spark: SparkSession) -> DataFrameReader:
    options = {**connector.read_options(), **connector.spark_options()}
    return spark.read.format(connector.spark_format).options(**reveal_all(options))


def _as_before(connector: FileConnector, spark: SparkSession) -> Found:
    """Read as versions before 0.2 did: leniently without a schema, and with one only the columns that are used."""
    format, declared = connector.spark_format.lower(), connector.schema
    reader = spark.read.format(connector.spark_format)
    if format == "csv" and declared is None:
        reader = reader.option("inferSchema", "true")
    if format == "csv" and declared is not None:
        reader = reader.option("enforceSchema", "false")
    if isinstance(connector, RecordFiles) and format in UNTYPED and declared is not None:
        mode = "PERMISSIVE" if connector.reads_misfits_as_null else "FAILFAST"
        reader = reader.option("mode", mode)
    reader = reader.options(**reveal_all(connector.spark_options()))
    if declared is None:
        rows = load_files(reader, paths_of(connector))
        return Found(rows=rows, schema=rows.schema)
    held = held_schema(connector, spark, parse_schema(declared))
    return Found(rows=load_files(reader.schema(held), paths_of(connector)), schema=held)


def _typed(connector: FileConnector, spark: SparkSession) -> Found:
    files = TypedFiles(
        spark=spark,
        format=connector.spark_format,
        options=reveal_all(connector.spark_options()),
        where=tuple(paths_of(connector)),
        is_source=True,
    )
    try:
        return _found(connector, files)
    except (PySparkException, Py4JJavaError) as error:
        cause = read_cause(error)
        if cause.condition != "PARQUET_TYPE_ILLEGAL":
            raise
        raise files.illegal_type(cause.message) from error


def _found(connector: FileConnector, files: TypedFiles) -> Found:
    if connector.schema is None:
        part = files.one_schema(None)
        if part is None:
            raise no_columns(connector.one_path)
        return Found(rows=part.rows, schema=part.schema)
    declared = parse_schema(connector.schema)
    parts = files.parts(declared) or (files.empty(declared),)
    first, *others = parts
    return Found(rows=first.rows, schema=first.schema, others=tuple(others), origin=files.origin(parts, declared))
