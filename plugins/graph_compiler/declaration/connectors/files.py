"""Files of one format below a path: a local path, or a URI with a scheme that Spark supports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from itertools import combinations
from pathlib import PurePosixPath
from typing import ClassVar, Self, TypeAlias

from graph_compiler.declaration.connectors.connector import (
    Connector,
    IfMissing,
    OnMisfit,
    OnSchemaChange,
    Options,
    SinkMode,
    WhenReadTwice,
    as_pairs,
)
from graph_compiler.declaration.connectors.file_uris import lasting, place_uri
from graph_compiler.declaration.connectors.secret import SecretText
from graph_compiler.declaration.connectors.spark_options import (
    ASCII,
    OF_STREAMS,
    WRITE_OPTIONS,
    charset_of,
    charset_to_decode,
    find_unknown_options,
)
from graph_compiler.declaration.connectors.time_patterns import mistakes_in_options
from graph_compiler.declaration.coordination import MasterHook
from graph_compiler.errors import Problem
from graph_compiler.extensions import UNSAID
from graph_compiler.identifiers import did_you_mean, listing

TABLE_FORMATS = ("delta", "hudi", "iceberg")
"""Formats whose tables are a log beside the files: publishing only the files would break the table."""
CHECKED = ("csv", "json", "text")
"""Formats whose records are checked here, and can be set aside."""
UNTYPED = (*CHECKED, "xml")
"""Formats whose files contain no types."""
_OF_SPARK = re.compile(
    r"\A(?:org\.apache\.spark\.sql|com\.databricks\.spark)\.(?:.*\.)?(csv|json|orc|parquet|text|xml)(?:\.|\Z)",
    re.IGNORECASE,
)
"""Classes of Spark's own formats: read by one of these names, records and types would not be checked."""
_SAY_WHERE = frozenset({"path", "paths", "mapreduce.output.basename", "mapreduce.output.fileoutputformat.outputdir"})
"""Options of Spark's and Hadoop's writers, in lower case, that change the names or the folder of files."""
_PROLOG = re.compile(r"""\bencoding\s*=\s*["']([^"']*)""")


Paths: TypeAlias = str | Sequence[str] | tuple[str, ...]
"""One path, or several: passed as a list, stored as a tuple. A list of one is stored as its path."""
_PATH = "path."


class SchemaInFiles(StrEnum):
    """What files contain about their columns: names and types, only names (CSV's header), or nothing reliable."""

    TYPES = "types"
    NAMES = "names"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class FileConnector(Connector):
    """The base class of the file formats; `options` are those of Spark's reader and writer of the format.

    A source may have several paths: each is read as if it were the only one, and the rows of all are its rows.
    `if_missing` is one of `IfMissing`.
    """

    spark_modules: ClassVar[tuple[str, ...]] = (
        "graph_compiler.spark_runtime.connectors.file_source",
        "graph_compiler.spark_runtime.connectors.file_sink",
        "graph_compiler.spark_runtime.connectors.arriving.arriving_files",
    )
    sink_modes: ClassVar[tuple[SinkMode, ...]] = (
        SinkMode.APPEND,
        SinkMode.OVERWRITE,
        SinkMode.OVERWRITE_PARTITIONS,
        SinkMode.ERROR_IF_EXISTS,
    )
    has_folders: ClassVar[bool] = True
    arrives_as: ClassVar[str | None] = "files"
    when_read_twice: ClassVar[WhenReadTwice] = WhenReadTwice.LISTED
    source_hooks: ClassVar[tuple[MasterHook, ...]] = (MasterHook.INPUT_EXISTS,)
    sink_hooks: ClassVar[tuple[MasterHook, ...]] = (MasterHook.TARGET_CAN_BE_MADE,)
    never_rendered: ClassVar[tuple[str, ...]] = (*Connector.never_rendered, "if_missing")
    path: Paths
    options: Options = field(default=(), kw_only=True)
    if_missing: str | None = field(default=None, kw_only=True, metadata={UNSAID: True})

    def __post_init__(self) -> None:
        """Keep the options as pairs, and several paths as a tuple."""
        object.__setattr__(self, "options", as_pairs(self.options))
        if isinstance(self.path, list | tuple):
            paths = tuple(self.path)
            object.__setattr__(self, "path", paths[0] if len(paths) == 1 else paths)

    def what_arrives(self) -> Connector:
        """Return it without options of how much a batch has."""
        names = {name.lower() for name in OF_STREAMS}
        kept = [(name, value) for name, value in as_pairs(self.options) if name.lower() not in names]
        return replace(self, options=tuple(kept))

    def bounded_problems(self) -> Iterator[Problem]:
        """Yield options that only a stream has."""
        given = {name.lower(): name for name, _ in as_pairs(self.options)}
        if odd := [given[each.lower()] for each in OF_STREAMS if each.lower() in given]:
            yield Problem(
                message=f"its options have {listing(odd)}, and Spark would ignore it",
                allowed="on a stream: unbounded=True",
            )

    def unbounded_problems(self) -> Iterator[Problem]:
        """Yield columns that are not known, and paths that are not one folder, the same in each run."""
        if not self.is_listed_once:
            yield from self._never_arrives()
            return
        if self.schema is None and self.spark_format.lower() != "text":
            yield Problem(
                message="it never ends, and has no schema=: the files to come have no columns yet",
                allowed='schema="id BIGINT, amount DECIMAL(9, 2)"',
                hint="`graph-compiler dry-run --infer` prints the columns of the files that are there",
            )
        if len(self.paths) > 1:
            yield Problem(message=f"it never ends, and has {len(self.paths)} paths", allowed="one folder")
        elif "{{" in self.one_path or "{%" in self.one_path:
            yield Problem(
                message=f"it never ends, and its path is '{self.one_path}': each run would have another one",
                allowed="a path without templates",
            )

    @property
    def paths(self) -> tuple[str, ...]:
        """Return its paths."""
        return (self.path,) if isinstance(self.path, str) else tuple(self.path)

    @property
    def one_path(self) -> str:
        """Return its only path, of a sink, or of one of `each_place`."""
        assert isinstance(self.path, str), "it has several paths"
        return self.path

    def each_place(self) -> tuple[Self, ...]:
        return (self,) if isinstance(self.path, str) else tuple(replace(self, path=path) for path in self.path)

    @property
    def spark_format(self) -> str:
        """Return Spark's name of the format."""
        raise NotImplementedError

    @property
    def schema_in_files(self) -> SchemaInFiles:
        """Return what the files themselves contain about their columns."""
        return SchemaInFiles.TYPES

    @property
    def has_header(self) -> bool:
        """Whether the first line of each file contains the names of its columns."""
        return self.schema_in_files is SchemaInFiles.NAMES

    @property
    def is_multi_line(self) -> bool:
        """Whether a record may have several lines: a value of CSV in quotes, or a whole file of JSON."""
        options = {name.lower(): str(value) for name, value in self.spark_options().items()}
        return options.get("multiline", "").lower() == "true"

    @property
    def is_listed_once(self) -> bool:
        """Whether Spark lists the files when they are read, and every action on these rows reads the listed ones."""
        return self.spark_format.lower() not in TABLE_FORMATS

    @property
    def place(self) -> str | None:
        """Return the normalized folder, or all of them, in order; templates are kept."""
        return ", ".join(map(plain_place, sorted(self.paths)))

    def place_key(self) -> tuple[object, ...] | None:
        """Return the folders from the root, for all formats alike."""
        return folder_key(self.one_path)

    def asset_uri(self, fill: Callable[[str], str]) -> str | None:
        """Return the URI of the folder without its templated part."""
        return place_uri(place) if (place := lasting(fill(self.one_path))) else None

    def why_not_writable(self) -> str | None:
        """Return why a sink cannot have several paths, or its options: some write the files to another place."""
        if len(self.paths) != 1:
            return f"it has {len(self.paths)} paths, and a sink writes to one"
        wrong = [name for name, _ in as_pairs(self.options) if name.lower() in _SAY_WHERE]
        return f"option '{wrong[0]}' is not allowed on a sink: it changes where files are written" if wrong else None

    def spark_options(self) -> dict[str, SecretText]:
        """Return the options for both reading and writing."""
        return dict(as_pairs(self.options))

    def read_options(self) -> dict[str, SecretText]:
        """Return the options of the reader only; `options` take precedence."""
        return {}

    def write_options(self) -> Mapping[str, SecretText]:
        """Return the options of the writer only; `options` take precedence."""
        return WRITE_OPTIONS.get(self.spark_format.lower(), {})

    def problems(self) -> Iterator[Problem]:
        """Yield an empty path, `evolve` where files contain no schema, and options that Spark ignores or misreads."""
        yield from self._path_problems()
        evolves = self.on_schema_change == OnSchemaChange.EVOLVE
        if evolves and self.schema_in_files is SchemaInFiles.NOTHING:
            message = f"on_schema_change is 'evolve', but {self.spark_format} files do not store their columns"
            yield Problem(message=message, allowed="fail, ignore")
        if self.if_missing is not None and self.if_missing not in set(IfMissing):
            yield Problem(
                message=f"if_missing is '{self.if_missing}'",
                allowed=listing(IfMissing),
                hint=did_you_mean(str(self.if_missing), IfMissing),
            )
        yield from find_unknown_options(self.spark_format, as_pairs(self.options))
        if self.spark_format.lower() in UNTYPED:
            yield from mistakes_in_options(as_pairs(self.options))

    def _path_problems(self) -> Iterator[Problem]:
        """Yield empty paths, and paths that are, contain, or are in another one: their rows would be read twice."""
        if not self.paths:
            yield Problem(message="it has no path", allowed='a path or a URI, or several: ["/in/a", "/in/b"]')
        if not all(path.strip() for path in self.paths):
            yield Problem(message="its path is empty", allowed="a path or a URI")
            return
        for one, other in combinations(self.each_place(), 2):
            if one.meets(other):
                is_same = one.place == other.place
                words = "path '{}' twice" if is_same else "paths '{}' and '{}', and one is in the other"
                yield Problem(
                    message=f"it has the {words.format(one.one_path, other.one_path)}: rows would be read twice",
                    allowed="paths that have no file in common",
                    hint="leave out one of them",
                )

    def texts(self) -> dict[str, str]:
        found = Connector.texts(self)
        several = () if isinstance(self.path, str) else enumerate(self.paths, start=1)
        return {**{f"{_PATH}{number}": path for number, path in several if path}, **found}

    def with_texts(self, rendered: Mapping[str, str]) -> Self:
        others = {key: text for key, text in rendered.items() if not key.startswith(_PATH)}
        if isinstance(self.path, str):
            return Connector.with_texts(self, others)
        paths = tuple(rendered.get(f"{_PATH}{number}", path) for number, path in enumerate(self.paths, start=1))
        return replace(Connector.with_texts(self, others), path=paths)


@dataclass(frozen=True, slots=True)
class RecordFiles(FileConnector):
    """The base class of formats without types: CSV, JSON, text and XML, so `Files` is one, too.

    Their records may contain text that is no value of its column's type. `on_misfit` is one of `OnMisfit`. With
    `rejects="bad"`, records that do not fit are in the side output `bad`, with the columns file, record, column, text
    and reason, and in no other output.
    """

    never_rendered: ClassVar[tuple[str, ...]] = (*FileConnector.never_rendered, "on_misfit", "rejects")
    on_misfit: str | None = field(default=None, kw_only=True, metadata={UNSAID: True})
    rejects: str | None = field(default=None, kw_only=True, metadata={UNSAID: True})

    def what_arrives(self) -> Connector:
        """Return it without what becomes of records that do not fit, too: none of them was read before."""
        return replace(super(RecordFiles, self).what_arrives(), on_misfit=None)  # type: ignore[call-arg]  # the same kind

    @property
    def is_checked(self) -> bool:
        """Whether its records are checked one by one: Spark's own readers accept too much."""
        return self.spark_format.lower() in CHECKED

    @property
    def reads_misfits_as_null(self) -> bool:
        """Whether values that do not fit are NULL. Descriptors of earlier versions say it with `on_schema_change`."""
        if self.on_misfit is None:
            return self.on_schema_change == OnSchemaChange.IGNORE and self.rejects is None
        return self.on_misfit == OnMisfit.NULL

    @property
    def continues_after_misfits(self) -> bool:
        """Whether a record that does not fit leaves the task running."""
        return self.rejects is not None or self.reads_misfits_as_null

    def output_tags(self) -> tuple[str, ...]:
        """Return the tag of the records that do not fit."""
        return () if self.rejects is None else (self.rejects,)

    def problems(self) -> Iterator[Problem]:
        """Yield those of all files, and arguments that the format cannot have, or that exclude each other."""
        yield from FileConnector.problems(self)
        yield from self._misfit_problems()

    def _misfit_problems(self) -> Iterator[Problem]:
        format = self.spark_format.lower()
        if self.on_misfit is not None and self.on_misfit not in set(OnMisfit):
            yield Problem(
                message=f"on_misfit is '{self.on_misfit}'",
                allowed=listing(OnMisfit),
                hint=did_you_mean(str(self.on_misfit), OnMisfit),
            )
        if self.rejects is not None and not str(self.rejects).strip():
            yield Problem(message="its rejects are the empty text", allowed="the tag of a side output")
        if self.rejects is not None and self.on_misfit is not None:
            yield Problem(
                message=f"it has rejects, and on_misfit='{self.on_misfit}'",
                allowed="one of them: records that do not fit go to a side output, fail the task, or have NULLs",
            )
        if self.on_misfit is not None and format not in UNTYPED:
            message = f"{format} files have types, so on_misfit does not apply"
            hint = "leave out on_misfit; on_schema_change says what happens if a type differs from schema="
            yield Problem(message=message, hint=hint)
        if self.rejects is not None and format not in CHECKED:
            message = f"records of {format} files cannot be set aside"
            yield Problem(message=message, allowed=f"rejects= for {listing(CHECKED)}")
        for name, value in as_pairs(self.options):
            yield from self._option_problems(name, str(value))

    def _option_problems(self, name: str, value: str) -> Iterator[Problem]:
        """Yield options of Spark's readers that `on_misfit` and `rejects` replace."""
        if self.spark_format.lower() not in UNTYPED:
            return
        if self.spark_format.lower() == "text" and charset_to_decode({name: value}):
            yield Problem(
                message=f"option '{name}' is '{value}': Spark would apply it to the ends of lines only",
                allowed="lines in UTF-8",
                hint="convert the files: `iconv -f ENCODING -t UTF-8`; Csv and Json have other encodings",
            )
        if name.lower() == "mode" and value.upper() != "FAILFAST":
            yield Problem(
                message=f"option '{name}' is '{value}': Spark would apply it only to the columns that are read",
                allowed='on_misfit="fail", on_misfit="null", or rejects="bad"',
            )
        if name.lower() == "columnnameofcorruptrecord":
            message = f"option '{name}' has no effect: records that do not fit go to a side output"
            yield Problem(message=message, allowed='rejects="bad"')


@dataclass(frozen=True, slots=True)
class Csv(RecordFiles):
    """CSV files; `null_value` is the text of a missing value. An empty field without quotes is always missing.

    Without `schema` Spark infers one in a separate pass. Columns are found by the names in the header. A record that
    does not fit the schema, declared or inferred, fails the task, unless `on_misfit` or `rejects` says otherwise.
    """

    header: bool = field(default=True, kw_only=True)
    null_value: str = field(default="", kw_only=True)

    @property
    def spark_format(self) -> str:
        return "csv"

    @property
    def schema_in_files(self) -> SchemaInFiles:
        """Return that files contain names if they have a header, otherwise nothing; an option takes precedence."""
        options = {name.lower(): str(value) for name, value in as_pairs(self.options)}
        header = options.get("header", str(self.header)).lower() == "true"
        return SchemaInFiles.NAMES if header else SchemaInFiles.NOTHING

    def spark_options(self) -> dict[str, SecretText]:
        own: dict[str, SecretText] = {"header": str(self.header).lower(), "nullValue": self.null_value}
        return own | dict(as_pairs(self.options))


@dataclass(frozen=True, slots=True)
class Json(RecordFiles):
    """JSON, one object on each line. A missing key is NULL, as is an explicit null.

    So files do not show which columns they have. With `schema`, other keys are left out; without it, Spark infers one
    in a separate pass. A record that does not fit the schema, declared or inferred, fails the task, unless `on_misfit`
    or `rejects` says otherwise.
    """

    @property
    def spark_format(self) -> str:
        return "json"

    @property
    def schema_in_files(self) -> SchemaInFiles:
        """Return that files contain nothing reliable: objects may omit keys."""
        return SchemaInFiles.NOTHING


@dataclass(frozen=True, slots=True)
class Parquet(FileConnector):
    """Parquet files; they contain their schema.

    Without `schema`, a source has the columns of all files, and is refused if their types differ. With
    `options={"mergeSchema": "false"}` it has those of one file, and the others are not compared.
    """

    sink_modes: ClassVar[tuple[SinkMode, ...]] = tuple(SinkMode)

    @property
    def spark_format(self) -> str:
        return "parquet"


@dataclass(frozen=True, slots=True)
class Orc(FileConnector):
    """ORC files; they contain their schema.

    Without `schema`, a source has the columns of all files, and is refused if their types differ. With
    `options={"mergeSchema": "false"}` it has those of one file, and the others are not compared.
    """

    sink_modes: ClassVar[tuple[SinkMode, ...]] = tuple(SinkMode)

    @property
    def spark_format(self) -> str:
        return "orc"


@dataclass(frozen=True, slots=True)
class Text(RecordFiles):
    """Lines of text: one column, `value` when read; a sink takes one STRING column beside `partition_by`."""

    @property
    def spark_format(self) -> str:
        return "text"

    @property
    def schema_in_files(self) -> SchemaInFiles:
        return SchemaInFiles.NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Files(RecordFiles):
    """Files of any format Spark has a data source for: `Files(format="avro", path="/in")`.

    The cluster must provide the data source's jars. CSV, JSON and text are read as by their own connectors. Records
    of XML are checked as theirs are: a value that does not fit fails the task, or is NULL with `on_misfit="null"`.

    Delta, Iceberg and Hudi can be read, not written: such a table is a log beside its files, and this project publishes
    files.
    """

    never_rendered: ClassVar[tuple[str, ...]] = (*RecordFiles.never_rendered, "format")
    format: str

    @property
    def spark_format(self) -> str:
        return self.format

    @property
    def schema_in_files(self) -> SchemaInFiles:
        """Return the answer of the format's own connector; files of other formats contain their schema."""
        return SchemaInFiles.TYPES if self._own is None else self._own.schema_in_files

    @property
    def _own(self) -> RecordFiles | None:
        """Return the connector of a format whose files contain no types; XML is treated like JSON."""
        kind = self.format.lower()
        if kind not in UNTYPED:
            return None
        own: RecordFiles = Text(self.path) if kind == "text" else Json(self.path)
        if kind == "csv":
            options = {name.lower(): str(value).lower() for name, value in as_pairs(self.options)}
            own = Csv(self.path, header=options.get("header") == "true")
        return replace(own, schema=self.schema, on_schema_change=self.on_schema_change)

    def read_options(self) -> dict[str, SecretText]:
        """Return the option with which Spark's reader checks values, while it infers the columns of XML."""
        if self.format.lower() != "xml":
            return {}
        return {"mode": "PERMISSIVE" if self.reads_misfits_as_null else "FAILFAST"}

    def problems(self) -> Iterator[Problem]:
        if not self.format.strip():
            yield Problem(message="its format is empty", allowed="avro, xml, …")
        if by_class := _OF_SPARK.search(self.format):
            yield Problem(
                message=f"its format {self.format!r} is Spark's own {by_class[1].lower()} under the name of a class",
                allowed=f"format='{by_class[1].lower()}'",
            )
        yield from RecordFiles.problems(self)

    def why_not_writable(self) -> str | None:
        if self.format.lower() == "xml" and (reason := self._why_no_xml()) is not None:
            return reason
        if self.format.lower() not in TABLE_FORMATS:
            return RecordFiles.why_not_writable(self)
        tables = listing(TABLE_FORMATS)
        return (
            f"a {self.format} table cannot be written as files: {tables} tables are files and a log. "
            "Iceberg(name) and Delta(path) write tables"
        )

    def _why_no_xml(self) -> str | None:
        """Return why no reader could read what it writes: Spark writes one encoding, and another into the prolog."""
        options = {name.lower(): str(value) for name, value in as_pairs(self.options)}
        written = charset_of(options)
        prolog = options.get("declaration", 'encoding="UTF-8"')
        said = charset_of({"encoding": found[1]}) if (found := _PROLOG.search(prolog)) else None
        # Letters that ASCII does not have are written as &#x141;, and without a prolog, readers know these two.
        if written in (said, ASCII) or (said is None and written in ("UTF-8", "UTF-16")):
            return None
        own = "" if said is None else f", which say {said}"
        return (
            f"its XML files would be in {written}, and readers take the encoding from their first lines{own}. "
            f'Leave out its option encoding, or add the option declaration=\'version="1.0" encoding="{written}"\''
        )


def folder_key(path: str) -> tuple[object, ...]:
    """Return the folders of a path from the root, for whatever is in them."""
    return (FileConnector, *(PurePosixPath(plain_place(path)).parts or "."))


@lru_cache(maxsize=1024)  # each pair of a pipeline's places is compared while Airflow parses its Dag
def plain_place(path: str) -> str:
    """Return a path in one form: without `file:`, and without a slash at its end."""
    path = re.sub(r"^file:(//(?=/|\{)|(?=/(?!/)|\{))", "", path, flags=re.IGNORECASE)
    scheme, separator, rest = path.rpartition("://")
    if not separator and rest.startswith("//"):  # PurePosixPath keeps two slashes
        rest = "/" + rest.lstrip("/")
    return f"{scheme}{separator}{PurePosixPath(rest)}"
