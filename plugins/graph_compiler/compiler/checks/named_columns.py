"""The columns that an expression names, as far as that is certain without Spark.

amount > :least                →  amount
left.price < right.limit       →  price of the left input, limit of the right one
exists(tags, t -> t = 'x')     →  only Spark knows: t is no column
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from graph_compiler.declaration.sql_text import Token, name_at, tokens_of

LEFT, RIGHT = "left", "right"
"""What a join's condition calls its inputs."""


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column in an expression; `side` is `left` or `right` if the expression says so."""

    name: str
    side: str | None = None


_KEYWORDS = frozenset(  # a list would have 444 lines
    """
    ADD AFTER AGGREGATE ALIGN ALL ALTER ALWAYS ANALYZE AND ANTI ANY ANY_VALUE APPLY APPROX ARCHIVE ARRAY AS ASC
    ASENSITIVE ASOF AT ATOMIC AUTHORIZATION AUTO BEGIN BERNOULLI BETWEEN BIGINT BIN BINARY BINDING BOOLEAN BOTH BUCKET
    BUCKETS BY BYTE CACHE CALL CALLED CASCADE CASE CAST CATALOG CATALOGS CHANGE CHANGES CHAR CHARACTER CHECK CLEAR CLOSE
    CLUSTER CLUSTERED CODEGEN COLLATE COLLATION COLLATIONS COLLECTION COLUMN COLUMNS COMMENT COMMIT COMPACT COMPUTE
    CONCATENATE CONDITION CONSTRAINT CONTAINS CONTINUE COST CREATE CROSS CUBE CURRENT CURRENT_DATABASE CURRENT_DATE
    CURRENT_PATH CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATA DATABASE DATABASES DATE DATEADD
    DATEDIFF DATE_ADD DATE_DIFF DAY DAYOFYEAR DAYS DBPROPERTIES DEC DECIMAL DECLARE DEFAULT DEFINED DEFINER DELAY DELETE
    DELIMITED DESC DESCRIBE DETERMINISTIC DFS DIRECTORIES DIRECTORY DISTANCE DISTINCT DISTRIBUTE DIV DO DOUBLE DROP ELSE
    ELSEIF END ENFORCED ESCAPE ESCAPED EVOLUTION EXACT EXCEPT EXCHANGE EXCLUDE EXCLUSIVE EXECUTE EXISTS EXIT EXPLAIN
    EXPORT EXTEND EXTENDED EXTERNAL EXTRACT FALSE FETCH FIELDS FILEFORMAT FILTER FIRST FLOAT FLOW FOLLOWING FOR FOREIGN
    FORMAT FORMATTED FOUND FROM FULL FUNCTION FUNCTIONS GENERATED GEOGRAPHY GEOMETRY GLOBAL GRANT GROUP GROUPING
    GROUPING__ID HANDLER HAVING HOUR HOURS IDENTIFIED IDENTIFIER IDENTITY IF IGNORE ILIKE IMMEDIATE IMPORT IN INCLUDE
    INCLUSIVE INCREMENT INDEX INDEXES INFINITY INNER INPATH INPUT INPUTFORMAT INSENSITIVE INSERT INT INTEGER INTERSECT
    INTERVAL INTO INVOKER IS ITEMS ITERATE JOIN JSON JSON_TABLE KEY KEYS LANGUAGE LAST LATERAL LAZY LEADING LEAVE LEFT
    LEVEL LIKE LIMIT LINES LIST LOAD LOCAL LOCALTIME LOCATION LOCK LOCKS LOGICAL LONG LOOP MACRO MAP MATCHED
    MATERIALIZED MAX MEASURE MERGE METRICS MICROSECOND MICROSECONDS MILLISECOND MILLISECONDS MINUS MINUTE MINUTES
    MODIFIES MONTH MONTHS MSCK NAME NAMESPACE NAMESPACES NAN NANOSECOND NANOSECONDS NATURAL NEAREST NEXT NO NONE NORELY
    NOT NULL NULLS NUMERIC OF OFFSET ON ONLY OPEN OPTION OPTIONS OR ORDER ORDINALITY OUT OUTER OUTPUTFORMAT OVER
    OVERLAPS OVERLAY OVERWRITE PARTITION PARTITIONED PARTITIONS PATH PERCENT PIVOT PLACING POSITION PRECEDING PRIMARY
    PRINCIPALS PROCEDURE PROCEDURES PROPERTIES PURGE QUALIFY QUARTER QUERY RANGE READ READS REAL RECORDREADER
    RECORDWRITER RECOVER RECURSION RECURSIVE REDUCE REFERENCES REFRESH REGEXP RELY RENAME REPAIR REPEAT REPEATABLE
    REPLACE RESET RESPECT RESTRICT RETURN RETURNS REVOKE RIGHT RLIKE ROLE ROLES ROLLBACK ROLLUP ROW ROWS SCD SCHEMA
    SCHEMAS SECOND SECONDS SECURITY SELECT SEMI SEPARATED SEQUENCE SERDE SERDEPROPERTIES SESSION_USER SET SETS SHORT
    SHOW SIMILARITY SINGLE SKEWED SMALLINT SOME SORT SORTED SOURCE SPARK_GROUPING_ID SPECIFIC SQL SQLEXCEPTION SQLSTATE
    START STATISTICS STORED STRATIFY STREAM STREAMING STRING STRUCT SUBSTR SUBSTRING SYNC SYSTEM SYSTEM_TIME
    SYSTEM_VERSION TABLE TABLES TABLESAMPLE TARGET TBLPROPERTIES TERMINATED THEN TIME TIMEDIFF TIMESTAMP TIMESTAMPADD
    TIMESTAMPDIFF TIMESTAMP_LTZ TIMESTAMP_NTZ TINYINT TO TOUCH TRACK TRAILING TRANSACTION TRANSACTIONS TRANSFORM TRIM
    TRUE TRUNCATE TRY_CAST TYPE UNARCHIVE UNBOUNDED UNCACHE UNIFORM UNION UNIQUE UNKNOWN UNLOCK UNNEST UNPIVOT UNSET
    UNTIL UPDATE USE USER USING VALUE VALUES VAR VARCHAR VARIABLE VARIANT VERSION VIEW VIEWS VOID WATERMARK WEEK WEEKS
    WHEN WHERE WHILE WIDTH WINDOW WITH WITHIN WITHOUT X YEAR YEARS ZONE _METADATA
    """.split()  # noqa: SIM905  # the same
)
"""Words of Spark's grammar (`sql_keywords()`), and names that Spark adds: a column may be called so, or it is none."""
_ONLY_SPARK_KNOWS = frozenset({"SELECT", "VALUES", "TABLE", "?", "{", "}", "@", "|>", "$"})
_ARROWS = frozenset({"->", "=>", "::"})
_TYPE_FOLLOWS = frozenset({"CAST", "TRY_CAST"})
_UNIT_FIRST = frozenset(
    {"EXTRACT", "TIMESTAMPADD", "TIMESTAMPDIFF", "DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF", "TIMEDIFF"}
)


def columns_in(expression: str) -> tuple[NamedColumn, ...] | None:
    """Return the columns that an expression names, None if only Spark knows.

    A name that is also a word of Spark's grammar is left out, whatever it means.
    """
    tokens = tokens_of(expression)
    if "${" in expression or not _is_plain(tokens):
        return None
    found: dict[NamedColumn, None] = {}
    place: int | None = 0
    while place is not None and place < len(tokens):
        if (end := _end_of_grammar(tokens, place)) != place:
            place = end
            continue
        path = _path_at(tokens, place)
        place += 2 * len(path) - 1
        follows = _plain(tokens, place)
        if follows == "(":
            if len(path) > 1:
                return None  # a function of a catalog
        elif path[-1].text != "*" and not _is_text(tokens, place) and (column := _column(expression, path)):
            found[column] = None
    return None if place is None else tuple(found)


def _end_of_grammar(tokens: Sequence[Token], place: int) -> int | None:
    """Return the place after what is no name of a column, the same place for a name; None if only Spark knows."""
    token, before = tokens[place], _plain(tokens, place - 1)
    if not _is_name(token) or before in (":", "."):  # a parameter, a field
        return place + 1
    if before == "COLLATE":
        return place + 2 * len(_path_at(tokens, place)) - 1
    word = _plain(tokens, place)
    if word == "AS":
        return _end_of_alias(tokens, place)
    if word in _UNIT_FIRST and _plain(tokens, place + 1) == "(":
        return place + 3
    # Two operands beside each other are another grammar.
    return None if word not in _KEYWORDS and place and _is_operand(tokens[place - 1]) else place


def _plain(tokens: Sequence[Token], place: int) -> str:
    """Return the word or symbol at a place, empty if there is none."""
    is_there = 0 <= place < len(tokens) and not tokens[place].is_quoted
    return tokens[place].text if is_there else ""


def _is_plain(tokens: Sequence[Token]) -> bool:
    """Whether a text has nothing in which a word may be a variable, a table, or a type that is not after AS."""
    texts = ["" if token.is_quoted else token.text for token in tokens]
    if _ONLY_SPARK_KNOWS & set(texts):
        return False
    for place, (one, other) in enumerate(pairwise(tokens)):
        is_beside = one.end == other.start
        if is_beside and texts[place] + texts[place + 1] in _ARROWS:
            return False
        if texts[place + 1] == ":" and is_beside and (one.is_quoted or one.text[-1].isalnum() or one.text in "_)]"):
            return False  # a path into a variant
    return not (texts and texts[-1] == ":")


def _is_name(token: Token) -> bool:
    return token.text.startswith("`") if token.is_quoted else token.text.isidentifier()


def _is_operand(token: Token) -> bool:
    """Whether a token ends an operand: a name, a number, a text, a bracket."""
    if token.is_quoted or token.text in (")", "]"):
        return True
    return token.text[0].isalnum() and not (token.text.isidentifier() and token.text in _KEYWORDS)


def _is_text(tokens: Sequence[Token], place: int) -> bool:
    return place < len(tokens) and tokens[place].is_quoted and not tokens[place].text.startswith("`")


def _path_at(tokens: Sequence[Token], place: int) -> list[Token]:
    """Return the parts of a name: `a.b.c`."""
    path = [tokens[place]]
    while place + 2 < len(tokens) and tokens[place + 1].text == "." and not tokens[place + 1].is_quoted:
        path.append(tokens[place + 2])
        place += 2
    return path


def _column(expression: str, path: Sequence[Token]) -> NamedColumn | None:
    first = path[0]
    if not first.is_quoted and first.text.lower() in (LEFT, RIGHT) and len(path) > 1:
        is_named = _is_name(path[1])
        return NamedColumn(name_at(expression, path[1]), first.text.lower()) if is_named else None
    if not first.is_quoted and first.text in _KEYWORDS:
        return None
    return NamedColumn(name_at(expression, first))


def _end_of_alias(tokens: Sequence[Token], place: int) -> int | None:
    """Return the place after what follows AS: the type of a CAST, or a name; None for anything else."""
    if not _is_in_cast(tokens, place):
        return place + 2 if place + 1 < len(tokens) and _is_name(tokens[place + 1]) else None
    depth = 0
    for after in range(place + 1, len(tokens)):
        text = _plain(tokens, after)
        depth += (text == "(") - (text == ")")
        if depth < 0:
            return after
    return None


def _is_in_cast(tokens: Sequence[Token], place: int) -> bool:
    """Whether the bracket around a place is that of a CAST."""
    depth = 0
    for before in range(place - 1, -1, -1):
        text = _plain(tokens, before)
        depth += (text == ")") - (text == "(")
        if depth < 0:
            return _plain(tokens, before - 1) in _TYPE_FOLLOWS
    return False
