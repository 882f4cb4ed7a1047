"""Options of Spark's own file formats: the names that Spark reads, and what we set for every write.

Spark ignores a name that it does not know: a misspelled one would do nothing. Names with a dot belong to Hadoop or to a
format's library (`parquet.block.size`), and other formats have names of their own; neither is checked.
`tests/spark/connectors/test_spark_options.py` compares the names with those of the installed Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from graph_compiler.declaration.connectors.secret import SecretText
from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean

_MICROSECONDS: Mapping[str, str] = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Spark's readers accept these by default, and its writers cut them to milliseconds."""
WRITE_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "csv": {**_MICROSECONDS, "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"},
    "json": {**_MICROSECONDS, "ignoreNullFields": "false"},
    "xml": _MICROSECONDS,
}
"""Options with which Spark's writers of a format keep values unchanged (docs/formats.md)."""

OF_FILES = frozenset(
    {
        "basePath", "ignoreCorruptFiles", "ignoreInvalidPartitionPaths", "ignoreMissingFiles",
        "ignoredPathSegmentRegex", "maxRecordsPerFile", "modifiedAfter", "modifiedBefore", "partitionOverwriteMode",
        "path", "pathGlobFilter", "paths", "recursiveFileLookup", "timeZone",
    }
)  # fmt: skip
"""Options of every file format: which files are read, and how many are written."""
OF_STREAMS = ("maxBytesPerTrigger", "maxFilesPerTrigger")
"""Options of streams of files: how much a batch has at most."""
_OF_TEXTS = frozenset(
    {
        "charset", "columnNameOfCorruptRecord", "compression", "dateFormat", "encoding", "locale", "mode", "multiLine",
        "samplingRatio", "singleVariantColumn", "timeFormat", "timeZone", "timestampFormat", "timestampNTZFormat",
    }
)  # fmt: skip
OF_FORMATS: Mapping[str, frozenset[str]] = {
    "csv": _OF_TEXTS
    | {
        "charToEscapeQuoteEscaping", "codec", "columnPruning", "comment", "delimiter", "emptyValue",
        "enableDateTimeParsingFallback", "enforceSchema", "escape", "escapeQuotes", "extension", "header",
        "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "inferSchema", "inputBufferSize", "lineSep",
        "maxCharsPerColumn", "maxColumns", "nanValue", "negativeInf", "nullValue", "positiveInf", "preferDate", "quote",
        "quoteAll", "sep", "unescapedQuoteHandling",
    },
    "json": _OF_TEXTS
    | {
        "allowBackslashEscapingAnyCharacter", "allowComments", "allowNonNumericNumbers", "allowNumericLeadingZeros",
        "allowSingleQuotes", "allowUnquotedControlChars", "allowUnquotedFieldNames", "dropFieldIfAllNull",
        "enableDateTimeParsingFallback", "explodeEmbeddedArray", "ignoreNullFields", "inferTimestamp", "lineSep",
        "prefersDecimal", "pretty", "primitivesAsString", "sortKeys", "useUnsafeRow",
        "writeNonAsciiCharacterAsCodePoint",
    },
    "xml": _OF_TEXTS
    | {
        "arrayElementName", "attributePrefix", "declaration", "excludeAttribute", "ignoreNamespace",
        "ignoreSurroundingSpaces", "indent", "inferSchema", "nullValue", "preferDate", "prefersDecimal", "rootTag",
        "rowTag", "rowValidationXSDPath", "useLegacyXMLParser", "validateName", "valueTag", "wildcardColName",
    },
    "parquet": frozenset({"compression", "datetimeRebaseMode", "int96RebaseMode", "mergeSchema"}),
    "orc": frozenset({"compression", "mergeSchema"}),
    "text": frozenset({"compression", "encoding", "lineSep", "wholetext"}),
}  # fmt: skip
"""Options of one format, for reading or writing."""
ASCII = "US-ASCII"
_UTF8 = ("", "UTF-8", "UTF8")
_SHOWN, _NEAR = 5, 0.55


def charset_of(options: Mapping[str, object]) -> str:
    """Return the charset that options of CSV, JSON or XML name, in upper case; names are compared as Spark does."""
    given = {str(name).lower(): str(value) for name, value in options.items()}
    charset = (given.get("encoding") or given.get("charset") or "").upper()
    return "UTF-8" if charset in _UTF8 else charset


def charset_to_decode(options: Mapping[str, object]) -> str | None:
    """Return the charset that options name; None for UTF-8, and for ASCII, whose files are UTF-8, too."""
    charset = charset_of(options)
    return None if charset in ("UTF-8", ASCII) else charset


def has_all_letters(charset: str) -> bool:
    """Whether each text can be written in a charset."""
    return charset.startswith("UTF-")


def find_unknown_options(format: str, options: Sequence[tuple[str, SecretText]]) -> Iterator[Problem]:
    """Yield each option that Spark would ignore; names are compared as Spark does, ignoring case."""
    own = OF_FORMATS.get(format.lower())
    if own is None:
        return
    known = {name.lower(): name for name in (*sorted(OF_FILES), *OF_STREAMS, *sorted(own))}
    for given, _ in options:
        name = str(given)
        if name.lower() in known or "." in name:
            continue
        near = [known[each] for each in get_close_matches(name.lower(), known, _SHOWN, _NEAR)]
        of_spark = "those of Spark's documentation"
        hint = did_you_mean(name.lower(), known)
        yield Problem(
            message=f"Spark's {format.lower()} files have no option '{name}', and Spark would ignore it",
            allowed=f"{', '.join(near)} and others: {of_spark}" if near else of_spark,
            hint=f"did you mean '{near[0]}'?" if hint else None,
        )
