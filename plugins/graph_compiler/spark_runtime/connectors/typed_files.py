"""Read files that contain names and types of their columns: Parquet, ORC, and other formats that declare them.

Spark merges the columns of all files in one short job. It fails if a column has different types, and its readers do not
convert types reliably: ORC returns NULL for a BIGINT that is read as INT, Parquet other numbers for an INT that is read
as SMALLINT or DATE. So every file is read with its own types, and our casts, which fail instead of losing a value, do
the rest:

    01.parquet   id INT                01, 02   id INT      ┐
    02.parquet   id INT, note STRING   03       id BIGINT   ┘ →  id BIGINT, note STRING
    03.parquet   id BIGINT
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

from graph_compiler.declaration.connectors.files import FileConnector, SchemaInFiles
from graph_compiler.errors import SchemaChangedError
from graph_compiler.spark_runtime.columns.alignment import all_nullable, by_name, united, with_all_fields
from graph_compiler.spark_runtime.columns.declared_schema import ddl, type_words
from graph_compiler.spark_runtime.columns.schema_change import Origin, Part, SchemaChange, common_schema, find_changes
from graph_compiler.spark_runtime.connectors.folder_values import columns_with_null, refuse_columns_in_both
from graph_compiler.spark_runtime.failures.causes import read_cause
from graph_compiler.spark_runtime.positions.new_files import paths_of
from graph_compiler.spark_runtime.publishing.literal_paths import literal_path, reads_everything
from graph_compiler.spark_runtime.secret_values import reveal_all
from graph_compiler.spark_runtime.spark_internals.file_listings import (
    FileVersion,
    Listing,
    columns_in_files_and_folders,
    file_versions,
    folder_columns,
    listed_paths,
    load_files,
)
from graph_compiler.spark_runtime.spark_internals.hadoop_files import orc_columns, parquet_columns, parquet_columns_of
from graph_compiler.spark_runtime.spark_internals.java import Py4JJavaError
from graph_compiler.spark_runtime.spark_internals.plan_leaves import plan_leaves

_FOOTERS: Mapping[str, Callable[[SparkSession], Callable[[str], StructType]]] = {
    "parquet": parquet_columns,
    "orc": orc_columns,
}
"""How a file's columns are read from its footer."""
_ILLEGAL = re.compile(r"Illegal Parquet type: (.*?)\.?(?: SQLSTATE|$)", re.MULTILINE)
_AT_A_TIME = 8
_MOST_FILES_OF_A_MESSAGE = 1_000
"""Maximum number of files among which a refusal looks for an example."""


_EMPTY = "is not a Parquet file (length is too low: 0)"
"""What Spark says before 4.3 when it merges columns; it reads such a file later."""


@dataclass(frozen=True, kw_only=True)
class TypedFiles:
    """Files of one format: the paths or patterns they match, and the options they are read with.

    `is_source`: a column must not be in the files and in names of their folders, too.
    """

    spark: SparkSession
    format: str
    options: Mapping[str, str]
    where: tuple[str, ...]
    is_source: bool = False

    def parts(self, expected: StructType | None) -> tuple[Part, ...]:
        """Return all rows, with the columns of all files; none if there are no files.

        They have several parts if a column has different types. Columns that are names of folders have the expected
        types. NOT NULL is read from Parquet's footers if something expected is NOT NULL.
        """
        rows = self._merged(always=expected is not None)
        if isinstance(rows, _NoFiles):
            return ()
        if rows is None:
            return tuple(self._apart(expected or StructType()))
        if expected is None:
            return (Part(rows=rows, schema=rows.schema),)
        listing = _index_of(rows)
        schema = _with_types(rows.schema, listing, expected)
        if schema != rows.schema:
            rows = self._load(schema, self.where)
        if self._kind == "parquet" and has_not_null(expected):
            schema = _with_types(with_all_fields(united(*self._footers.values()), schema), listing, expected)
        return (Part(rows=rows, schema=schema),)

    def empty(self, schema: StructType) -> Part:
        """Return no rows, of files that have no columns; Spark lists them."""
        return Part(rows=self._load(schema, self.where), schema=schema)

    def origin(self, parts: tuple[Part, ...], expected: StructType) -> Origin:
        """Return what a refusal says about the files."""
        notes = tuple(self.differences()) if len(parts) > 1 else ()
        return Origin(file_with=lambda change: self._file_with(change, expected), notes=notes)

    def differences(self) -> Iterator[str]:
        """Yield each column that has different types, with a file for each."""
        types: dict[str, tuple[str, dict[str, str]]] = {}
        for file, schema in self._footers.items():
            for column, words in _types(schema, ""):
                _, files = types.setdefault(column.lower(), (column, {}))
                files.setdefault(words, file)
        for column, files in types.values():
            if len(files) > 1:
                found = ", ".join(f"{words} in {file}" for words, file in files.items())
                yield f"files differ in column '{column}': {found}"

    def illegal_type(self, message: str) -> SchemaChangedError:
        """Return the refusal of files with a type that Spark does not read, with a column and a file that have it."""
        found = _ILLEGAL.search(message)
        kind = found[1] if found else "?"
        columns = parquet_columns_of(self.spark, kind)
        with_it = ((file, names[0]) for file in self._files[:_MOST_FILES_OF_A_MESSAGE] if (names := columns(file)))
        file, name = next(with_it, (self.where[0], "?"))
        lines = [f"column '{name}' has the type {kind}, which Spark does not read", f"  file: {file}"]
        if "NANOS" in kind:
            lines.append("  hint: write microseconds: pandas' to_parquet(…, coerce_timestamps='us')")
        return SchemaChangedError("\n".join(lines))

    def one_schema(self, expected: StructType | None) -> Part | None:
        """Return all rows if every column has one type; None if there are no files.

        Raises SchemaChangedError if types differ.
        """
        parts = self.parts(expected)
        if len(parts) < 2:
            return parts[0] if parts else None
        common = common_schema([part.schema for part in parts])
        hints = [
            'declare schema= with one type for each, and on_schema_change="ignore": values are '
            "cast, and one that does not fit fails the task"
        ]
        if common is not None:
            hints = [f'schema="{ddl(common)}" with on_schema_change="evolve" reads them all']
        raise SchemaChangedError(
            "\n".join(
                [
                    "a column has different types in its files",
                    *(f"  {line}" for line in self.differences()),
                    "  allowed: one type for each column",
                    *(f"  hint: {hint}" for hint in hints if expected is None),
                ]
            )
        )

    def _merged(self, *, always: bool) -> DataFrame | _NoFiles | None:
        """Return the rows as Spark merges their columns; None if it cannot, since types differ or a file has 0 bytes.

        An option may say that the columns of one file are enough, unless columns are `always` compared.
        """
        reader = self._reader()
        if self._kind in _FOOTERS and (always or "mergeschema" not in self._option_names):
            reader = reader.option("mergeSchema", "true")
        try:
            rows = or_no_files(lambda: load_files(reader, self.where))
        except (PySparkException, Py4JJavaError) as error:
            cause = read_cause(error)
            cannot_merge = cause.condition == "CANNOT_MERGE_SCHEMAS" or any(_EMPTY in link for link in cause.chain)
            if self._kind in _FOOTERS and cannot_merge:
                return None if self._files else _NoFiles()
            raise
        if rows is not None and self.is_source:
            refuse_columns_in_both(columns_in_files_and_folders(rows), self.where[0])
        return _NoFiles() if rows is None else rows

    def _apart(self, expected: StructType) -> Iterator[Part]:
        """Yield the rows of files whose types agree."""
        folders = self._listing.schema
        roots = listed_paths(self._index)
        groups = _groups(self._footers)
        everything = united(*(schema for schema, _ in groups))
        for own, files in groups:
            schema = with_all_fields(own, everything)
            in_folders = by_name(folders)
            if self.is_source:
                refuse_columns_in_both([f.name for f in own if f.name.lower() in in_folders], self.where[0])
            kept = [in_folders.get(field.name.lower(), field) for field in schema]
            known = by_name(schema)
            kept += [field for field in folders if field.name.lower() not in known]
            schema = _with_types(StructType(kept), self._index, expected)
            if not has_not_null(expected):
                schema = all_nullable(schema)
            # Folders below the one root are columns; Spark finds them in no other case.
            base = roots[0] if folders.names and len(roots) == 1 else None
            yield Part(rows=self._load(schema, map(literal_path, files), base), schema=schema)

    def _load(self, schema: StructType, where: Iterable[str], base: str | None = None) -> DataFrame:
        reader = self._reader().schema(schema)
        if base is not None and "basepath" not in self._option_names:
            reader = reader.option("basePath", base)
        return load_files(reader, where)

    def _reader(self) -> DataFrameReader:
        """Return a new reader: Spark's readers keep what they are given."""
        return self.spark.read.format(self.format).options(**self.options)

    @property
    def _kind(self) -> str:
        """The format's name in lower case: Spark ignores the case of its own, and not that of a class."""
        return self.format.lower()

    @property
    def _option_names(self) -> set[str]:
        return {name.lower() for name in self.options}

    @cached_property
    def _listing(self) -> DataFrame:
        """List the files without reading one; the columns are those of folders."""
        return self._load(StructType(), self.where)

    @cached_property
    def _files(self) -> list[str]:
        """The files that contain something, in order: Spark passes over files of 0 bytes."""
        found: list[FileVersion] = sorted(file_versions(self._index))
        return [file.path for file in found if file.bytes]

    @property
    def _index(self) -> Any:
        """Spark's index of the listed files."""
        return _index_of(self._listing)

    @cached_property
    def _footers(self) -> dict[str, StructType]:
        """The columns of each file."""
        columns = _FOOTERS[self._kind](self.spark)
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            return dict(zip(self._files, pool.map(columns, self._files), strict=True))

    def _file_with(self, change: SchemaChange, expected: StructType) -> str | None:
        if self._kind not in _FOOTERS:
            return None
        if len(self._files) > _MOST_FILES_OF_A_MESSAGE:
            return None
        for file, schema in self._footers.items():
            for found in find_changes(expected, schema):
                is_same = (found.kind, found.column) == (change.kind, change.column)
                if is_same and (str(found) == str(change) or not change.is_of_type):
                    return file
        return None


def _index_of(rows: DataFrame) -> Any:
    """Return Spark's list of the files; None if the rows come from a data source that is none of files."""
    return next((leaf.listing for leaf in plan_leaves(rows)), None)


def or_no_files(load: Callable[[], DataFrame]) -> DataFrame | None:
    """Return rows whose columns Spark infers; None if there is no file from which it could."""
    try:
        return load()
    except AnalysisException as error:
        if error.getCondition() != "UNABLE_TO_INFER_SCHEMA":
            raise
        return None


def no_columns(path: str) -> SchemaChangedError:
    """Return the refusal of an input that has no columns, because it has no files or only empty ones."""
    return SchemaChangedError(
        f'its input {path} has no files with columns\n  hint: declare schema="…"; then an empty folder has no rows'
    )


class _NoFiles:
    """There is no file, or only empty ones."""


def has_not_null(schema: DataType) -> bool:
    """Whether a column, or a field at any depth, is NOT NULL."""
    if isinstance(schema, StructType):
        return any(not field.nullable or has_not_null(field.dataType) for field in schema)
    if isinstance(schema, ArrayType):
        return has_not_null(schema.elementType)
    if isinstance(schema, MapType):
        return has_not_null(schema.keyType) or has_not_null(schema.valueType)
    return False


def _groups(footers: Mapping[str, StructType]) -> list[tuple[StructType, list[str]]]:
    """Return few groups of files within which every column has one type, each with its merged columns."""
    alike: dict[StructType, list[str]] = {}
    for file, schema in footers.items():
        alike.setdefault(schema, []).append(file)
    groups: list[tuple[StructType, list[str]]] = []
    for schema, files in alike.items():
        for number, (merged, others) in enumerate(groups):
            if not any(change.is_of_type for change in find_changes(merged, schema)):
                groups[number] = (united(merged, schema), [*others, *files])
                break
        else:
            groups.append((schema, files))
    return groups


def _with_types(schema: StructType, listing: Listing | None, expected: StructType) -> StructType:
    """Return the schema, in which columns that are names of folders have the expected types.

    They are NOT NULL where that is expected, and each folder has a value.
    """
    known = by_name(expected)
    folders = [] if listing is None else [name for name in by_name(folder_columns(listing)) if name in known]
    is_asked = any(not known[name].nullable for name in folders)
    nulls = columns_with_null(listing) if listing is not None and is_asked else frozenset()
    as_wanted = {name: (known[name].dataType, known[name].nullable or name in nulls) for name in folders}
    return StructType(
        [
            StructField(
                field.name, *as_wanted.get(field.name.lower(), (field.dataType, field.nullable)), field.metadata
            )
            for field in schema
        ]
    )


def _types(data_type: DataType, path: str) -> Iterator[tuple[str, str]]:
    """Yield each column and field, by its dotted path, with its type in words; without the fields of a struct."""
    if isinstance(data_type, StructType):
        if path:
            yield path, "STRUCT"
        for field in data_type:
            yield from _types(field.dataType, f"{path}.{field.name}".lstrip("."))
    elif isinstance(data_type, ArrayType):
        yield path, "ARRAY"
        yield from _types(data_type.elementType, f"{path}.element")
    elif isinstance(data_type, MapType):
        yield path, "MAP"
        yield from _types(data_type.keyType, f"{path}.key")
        yield from _types(data_type.valueType, f"{path}.value")
    else:
        yield path, type_words(data_type)


# The columns of the files below a path, as far as the files declare them.
#
# A format declares names and types (Parquet, ORC), names only (a CSV header), or nothing. Whatever it does not declare
# is assumed to be as expected: the types of CSV columns, and those of partition folders, whose names are text.


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTarget:
    """A sink's target: its literal path, whether that is one file, and the files that are inspected; None for all."""

    folder: str
    files: tuple[str, ...] | None
    is_file: bool = False


def held_schema(
    connector: FileConnector, spark: SparkSession, expected: StructType, target: FileTarget | None = None
) -> StructType:
    """Return the columns of all files below the connector's path, or of a sink's target; reads no rows."""
    if connector.schema_in_files is SchemaInFiles.NOTHING:
        return expected
    reader = spark.read.format(connector.spark_format)
    options = reveal_all(connector.spark_options())
    where = paths_of(connector)
    if target is not None:
        options = reads_everything(options, spark) | ({} if target.is_file else {"basePath": target.folder})
        names = [""] if target.files is None else [f"/{file}" for file in target.files]
        where = [literal_path(f"{target.folder}{name}") for name in names]
    if connector.schema_in_files is SchemaInFiles.NAMES:
        named = reader.options(**options, inferSchema="false")
        rows = or_no_files(lambda: load_files(named, where))
        if rows is not None and target is None:
            refuse_columns_in_both(columns_in_files_and_folders(rows), connector.one_path)
        return _with_known_types(rows.columns, expected) if rows and rows.columns else expected
    files = TypedFiles(spark=spark, format=connector.spark_format, options=options, where=tuple(where))
    part = files.one_schema(expected)
    return expected if part is None else part.schema


def _with_known_types(names: list[str], expected: StructType) -> StructType:
    known = {field.name.lower(): field for field in expected}
    return StructType(
        [
            StructField(name, field.dataType, field.nullable)
            if (field := known.get(name.lower()))
            else StructField(name, StringType())
            for name in names
        ]
    )
