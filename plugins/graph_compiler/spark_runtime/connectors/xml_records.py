"""Records of XML: Spark's reader finds them, and returns the text of each element; the rest is as for CSV and JSON.

    <ROW><id>1</id><amount>3,50</amount></ROW>   →   id ['1'], amount ['3,50']   →   '1', '3,50'   →   1, a misfit

The reader keeps the last of several elements with one name. As lists, all of them can be counted. It has no rows, and
no error, if no element has the name `rowTag`: so the tags of such files are looked for in their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType, VariantType

from graph_compiler.identifiers import quoted
from graph_compiler.spark_runtime.columns.strict_values import sql_literal
from graph_compiler.spark_runtime.connectors.text_records import (
    NOT_XML,
    OUR_CORRUPT,
    OUR_FIELDS,
    OUR_FILE,
    OUR_RECORD,
    MisfitRule,
    TextFiles,
    load_as,
)
from graph_compiler.spark_runtime.spark_internals.hadoop_files import first_bytes

REPEATED = "its element, or one in it, occurs more than once in a record, and its type is no list"
_REPEATED = "graph_compiler_repeated"
_SET_HERE = ("mode", "columnnameofcorruptrecord", "inferschema")
_MOST_TEXT = 2_000
"""Of a record that is no XML, which is the whole file."""
_MOST_HEADS = 20
"""Files whose first bytes are read, to see the tag of their records without a job."""
_MOST_FILES = 10
"""In a message."""
_TAG = r"(?s)<([^\s<>/!?=\x00]+)(?:\s[^<]*)?/?\z"
"""A tag that begins an element, before its >. In UTF-16, it has null characters: such files are not looked at."""
_LOCAL = r"[^:]*\z"


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherTags:
    """A file with elements, of which none is a record; `similar` is a tag whose name differs only in case or prefix."""

    file: str
    similar: str | None


@dataclass(frozen=True, kw_only=True)
class XmlFiles(TextFiles):
    """The files of one source of XML. `listed` is only used for the list of files."""

    def without_records(self) -> list[OtherTags]:
        """Return some files that have elements below the root, and none that is a record.

        Reads the beginning of the first files, and the text of all others.
        """
        tag = self._options.get("rowtag", "")
        begins = re.compile(rb"<" + re.escape(tag.encode()) + rb"[\s/>]")
        files = self.listed.inputFiles()
        unseen = [each for each in files[:_MOST_HEADS] if not begins.search(first_bytes(each))]
        if not unseen and len(files) <= _MOST_HEADS:
            return []
        spark = self.listed.sparkSession
        options = {n: v for n, v in self._options.items() if n not in ("encoding", "charset", "multiline")}
        line = StructType([StructField(OUR_RECORD, StringType())])
        parts = load_as(self.connector, spark, "text", options | {"linesep": ">"}, line, stream=None)
        found = parts.selectExpr(
            f"_metadata.file_path AS {OUR_FILE}", f"regexp_extract({OUR_RECORD}, {sql_literal(_TAG)}, 1) AS tag"
        ).where("tag <> ''")
        local = f"regexp_extract(tag, {sql_literal(_LOCAL)}, 0)"
        name = local if self._options.get("ignorenamespace", "").lower() == "true" else "tag"
        own = sql_literal(tag.rpartition(":")[2].lower())
        counted = found.groupBy(OUR_FILE).agg(
            expr(f"max({name} = {sql_literal(tag)}) AS is_found"),
            expr("count(*) AS elements"),
            expr(f"max(CASE WHEN lower({local}) = {own} THEN tag END) AS similar"),
        )
        wrong = counted.where("NOT is_found AND (elements > 1 OR similar IS NOT NULL)").orderBy(OUR_FILE)
        return [OtherTags(file=row[0], similar=row.similar) for row in wrong.limit(_MOST_FILES).collect()]

    @property
    def has_lines(self) -> bool:
        return False

    @property
    def _is_legacy(self) -> bool:
        return self._options.get("uselegacyxmlparser", "").lower() == "true"

    def _record_text(self) -> str:
        fields = (f"{sql_literal(each.name)}, {OUR_FIELDS}.{quoted(each.name)}" for each in self.columns)
        return f"coalesce(left({OUR_FIELDS}.{OUR_CORRUPT}, {_MOST_TEXT}), to_json(named_struct({', '.join(fields)})))"

    def _records(self) -> DataFrame:
        """Return the records with their fields, as text."""
        options = {n: v for n, v in self._options.items() if n not in _SET_HERE}
        options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": OUR_CORRUPT}
        elements = _Elements(prefix=options.get("attributeprefix", "_"), text=options.get("valuetag", "_VALUE"))
        read = elements.read_as(self.columns)
        columns = StructType([*read, *self.folders, StructField(OUR_CORRUPT, StringType())])
        found = load_as(self.connector, self.listed.sparkSession, "xml", options, columns, stream=self.stream)
        fields = [f"{sql_literal(f.name)}, {elements.text_of(f, quoted(f.name), 0)}" for f in self.columns]
        repeated = [elements.repeated_in(f, quoted(f.name), 0) or "false" for f in self.columns]
        more = [
            f"'{OUR_CORRUPT}', {OUR_CORRUPT}",
            f"'{_REPEATED}', array({', '.join(f'coalesce({each}, false)' for each in repeated)})",
        ]
        return found.selectExpr(
            f"named_struct({', '.join([*fields, *more])}) AS {OUR_FIELDS}",
            f"CAST(NULL AS STRING) AS {OUR_RECORD}",
            f"_metadata.file_path AS {OUR_FILE}",
            *(quoted(name) for name in self.folders.names),
        )

    def _with_fields(self, lines: DataFrame) -> DataFrame:
        return lines

    def _checked_value(self, number: int, field: StructField) -> str:
        value = super()._checked_value(number, field)
        return f"CASE WHEN {_is_repeated(number)} THEN NULL ELSE {value} END"

    def _is_misencoded(self, text: str) -> str:
        """Return the condition of the base class for the old parser; the other one fails for such bytes."""
        return super()._is_misencoded(text) if self._is_legacy else "false"

    def _misfits(self) -> Iterator[MisfitRule]:
        yield MisfitRule(f"{OUR_FIELDS}.{OUR_CORRUPT} IS NOT NULL", NOT_XML)
        for number, field in enumerate(self.columns):
            yield MisfitRule(_is_repeated(number), REPEATED, field.name)
            yield from self._misfits_of(number, field)
        yield from self._misfits_of_folders()


def _is_repeated(number: int) -> str:
    """Return a condition: whether a column of this number has an element too many."""
    return f"{OUR_FIELDS}.{_REPEATED}[{number}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Elements:
    """How elements are read. `prefix` begins the names of attributes, `text` is the name of text between elements."""

    prefix: str
    text: str

    def read_as(self, kind: StructType) -> StructType:
        """Return the columns to read: lists of texts, so that the reader reports each of several elements."""
        return StructType(
            [
                StructField(f.name, ArrayType(inner) if self._is_counted(f) else inner)
                for f in kind
                for inner in [self._parsed(f.dataType)]
            ]
        )

    def text_of(self, field: StructField, read: str, depth: int) -> str:
        """Return the text of a field, or a struct, list or map of texts, given what was read for it."""
        return self._texts(field.dataType, f"get({read}, 0)" if self._is_counted(field) else read, depth)

    def repeated_in(self, field: StructField, read: str, depth: int) -> str | None:
        """Return a condition: whether an element occurs more than once that may not; None if each may."""
        first = f"get({read}, 0)" if self._is_counted(field) else read
        inner = self._repeated(field.dataType, first, depth)
        conditions = [f"size({read}) > 1"] if self._is_counted(field) else []
        return " OR ".join([*conditions, *([inner] if inner else [])]) or None

    def _is_counted(self, field: StructField) -> bool:
        """Whether a field is read as a list. The reader cannot do so for attributes, nor for all of a map."""
        if isinstance(field.dataType, ArrayType | MapType | VariantType):
            return False
        return field.name == self.text or not field.name.startswith(self.prefix)

    def _parsed(self, kind: DataType) -> DataType:
        if isinstance(kind, StructType):
            return self.read_as(kind)
        if isinstance(kind, ArrayType):
            return ArrayType(self._parsed(kind.elementType))
        if isinstance(kind, MapType):
            return MapType(kind.keyType, self._parsed(kind.valueType))
        return kind if isinstance(kind, VariantType) else StringType()

    def _texts(self, kind: DataType, read: str, depth: int) -> str:
        if isinstance(kind, StructType):
            fields = (f"{sql_literal(f.name)}, {self.text_of(f, f'{read}.{quoted(f.name)}', depth)}" for f in kind)
            return f"CASE WHEN {read} IS NOT NULL THEN named_struct({', '.join(fields)}) END"
        item = f"element{depth}"
        if isinstance(kind, ArrayType):
            return f"transform({read}, {item} -> {self._texts(kind.elementType, item, depth + 1)})"
        if isinstance(kind, MapType):
            value = self._texts(kind.valueType, item, depth + 1)
            return f"transform_values({read}, (name{depth}, {item}) -> {value})"
        if isinstance(kind, StringType | VariantType):
            return read
        # An empty element has no number, and no date.
        return f"CASE WHEN trim({read}) <> '' THEN {read} END"

    def _repeated(self, kind: DataType, read: str, depth: int) -> str | None:
        if isinstance(kind, StructType):
            found = [self.repeated_in(f, f"{read}.{quoted(f.name)}", depth) for f in kind]
            return " OR ".join(f"coalesce({each}, false)" for each in found if each) or None
        item = f"element{depth}"
        items, value = read, kind.elementType if isinstance(kind, ArrayType) else None
        if isinstance(kind, MapType):
            items, value = f"map_values({read})", kind.valueType
        inner = None if value is None else self._repeated(value, item, depth + 1)
        return inner and f"coalesce(exists({items}, {item} -> {inner}), false)"
