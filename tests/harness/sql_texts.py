"""SQL texts: queries and commands of Spark, and strategies for more of them behind comments, CTEs and brackets."""

import re

from hypothesis import strategies as st

QUERIES = (
    "SELECT 1", "SELECT(1)", "SELECT'a'", "select`a`from`t`", "ſelect 1", "TABLE t", "VALUES (1), (2)", "FROM t",
    "FROM t SELECT a", "FROM t SELECT a SELECT b", "FROM t |> WHERE a", "TABLE t |> SELECT a", "(SELECT 1)",
    "((SELECT 1) UNION (SELECT 2)) LIMIT 1", "(WITH a AS (SELECT 1) SELECT * FROM a)", "SELECT 1;", "SELECT 1 ;; -- x",
    "SELECT 1 /* ; */ ; /* x */ -- y", "MAP a USING 'cat' FROM t", "SELECT TRANSFORM(a) USING 'cat' FROM t",
    "SELECT * FROM STREAM t", "SELECT /*+ COALESCE(1) */ 1", "SELECT :x, a FROM t LIMIT :x", "\u00a0SELECT\u20281",
    # common table expressions
    "WITH a AS (SELECT 1) SELECT * FROM a", "WITH a AS (SELECT 1) (SELECT * FROM a) UNION SELECT 2",
    "WITH a (SELECT 1) (SELECT * FROM a) UNION SELECT 2", "WITH a(x, y) (VALUES (1, 2)) TABLE a",
    "WITH a AS (WITH b AS (SELECT 1) TABLE b), c AS (((FROM a))) FROM c SELECT *",
    "WITH RECURSIVE a(n) MAX RECURSION LEVEL 4 AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT * FROM a",
    "WITH IDENTIFIER('a') AS (SELECT 1) SELECT * FROM a", "WITH with AS (SELECT 1) TABLE with",
    "WITH select(select) AS (SELECT 1) SELECT select FROM select", "WITH `a(b)` AS (SELECT ')') SELECT 1",
    "WITH insert AS (SELECT 1) FROM insert overwrite SELECT 1",
    # names that are also words of commands
    "SELECT insert overwrite, update, delete drop FROM merge, into", "FROM insert overwrite SELECT 1",
    "FROM t, insert into SELECT 1", "FROM t JOIN insert overwrite SELECT 1", "FROM t |> EXTEND insert overwrite",
    "FROM t LATERAL VIEW explode(a) insert overwrite",
    "FROM t LATERAL VIEW OUTER explode(a) insert overwrite, b SELECT 1",
    "FROM map SELECT 1", "TABLE insert |> AS overwrite", "VALUES (1) AS insert(overwrite)",
    # quotes and comments
    "SELECT ';DROP TABLE x'", 'SELECT "; DROP TABLE x"', "SELECT 1 AS `a``; DROP TABLE x`", "SELECT 'a\\'; DROP'",
    "SELECT 'a''; DROP'", 'SELECT "a""; DROP"', "SELECT R'a\\';", 'SELECT r"a\\";', "SELECT 'x' 'y;' ;",
    "/* INSERT INTO x */ SELECT 1", "/* a /* b */ INSERT INTO x */ SELECT 1", "/* /*+ a */ SELECT 1",
    "/*/ x */ SELECT 1",
    "-- INSERT\nSELECT 1", "-- a\\\nINSERT INTO x\nSELECT 1", "-- INSERT\rSELECT 1", "SELECT 1 -- \\\n; DROP TABLE x",
)  # fmt: skip
"""Spark's parser takes each of them as a query."""

COMMANDS = (
    "INSERT INTO t SELECT 1", "insert into t values (1)", "INSERT OVERWRITE t TABLE u",
    "INSERT OVERWRITE DIRECTORY '/x' USING csv SELECT 1",
    "INSERT OVERWRITE LOCAL DIRECTORY '/x' STORED AS orc SELECT 1",
    "INSERT INTO t REPLACE WHERE a SELECT 1", "FROM t INSERT INTO x SELECT a",
    "FROM t u INSERT OVERWRITE x SELECT a INSERT INTO y SELECT b", "FROM insert INSERT INTO x SELECT 1",
    "FROM (SELECT 1 insert) INSERT INTO x SELECT *", "FROM t JOIN u ON t.a = insert INSERT INTO x SELECT 1",
    "FROM t LATERAL VIEW explode(a) b INSERT INTO x SELECT *",
    "UPDATE x SET a = 1", "DELETE FROM x", "MERGE INTO x USING y ON true WHEN MATCHED THEN DELETE",
    "CREATE TABLE x AS SELECT 1", "CREATE TABLE x (a INT) USING csv LOCATION '/x'", "CREATE VIEW x AS SELECT 1",
    "CREATE OR REPLACE TEMP VIEW x AS SELECT 1", "CREATE FUNCTION f AS 'a.B'", "CREATE FUNCTION f() RETURN 1",
    "CREATE DATABASE x", "REPLACE TABLE x AS SELECT 1", "ALTER TABLE x ADD COLUMN y INT", "ALTER VIEW x AS SELECT 1",
    "DROP TABLE x", "DROP VIEW IF EXISTS x", "DROP DATABASE x CASCADE", "TRUNCATE TABLE x",
    "LOAD DATA INPATH 'x' INTO TABLE y",
    "SET", "SET -v", "SET a = 1", "SET `a` = `b`", "SET TIME ZONE 'UTC'", "SET VAR x = 1", "SET CATALOG x",
    "RESET", "RESET a",
    "ADD JAR x.jar", "ADD FILE '/x'", "LIST JARS", "CACHE TABLE x", "CACHE LAZY TABLE x AS SELECT 1", "UNCACHE TABLE x",
    "CLEAR CACHE", "REFRESH TABLE x", "REFRESH '/x'", "ANALYZE TABLE x COMPUTE STATISTICS", "MSCK REPAIR TABLE x",
    "REPAIR TABLE x", "USE x", "COMMENT ON TABLE x IS 'a'", "CALL a.b(1)", "DECLARE VARIABLE x INT",
    "EXECUTE IMMEDIATE 'SELECT 1'", "EXPLAIN SELECT 1", "EXPLAIN EXTENDED INSERT INTO x SELECT 1", "SHOW TABLES",
    "SHOW CREATE TABLE x", "DESCRIBE x", "DESC QUERY SELECT 1", "DESCRIBE SELECT 1",
    "BEGIN END", "BEGIN DROP TABLE x; END",
)  # fmt: skip
"""Spark's parser takes each of them, but not as a query."""

_COMMENTS = ("/* SELECT */", "/* a /* b */ ; */", "-- SELECT 1\n", "--\\\nSELECT\n", "/**/", "/*/ ' */", "-- `\r")
_WORDS = re.compile(r"(?:'[^']*'|[^ ])+")
_GAPS = st.lists(st.sampled_from([" ", "\n", "\t", "\u2028", *_COMMENTS]), max_size=3).map("".join)
_CASES = st.sampled_from([str.lower, str.upper, str.title, str.swapcase])
_CTES = (
    "WITH a AS (SELECT 1)",
    "WITH a(insert, b) AS (VALUES (1, ')')), c (TABLE a)",
    "WITH RECURSIVE a AS (SELECT ';')",
)
_NAMES = st.sampled_from(["insert", "overwrite", "into", "drop", "`INSERT INTO x`", "t", "select", "merge", "`a``;`"])
_STRINGS = st.sampled_from(["'; DROP TABLE x'", "r'\\'", "'\\'; SET a'", '"; INSERT"', "'it''s'", "'/*'", "'--'", "1"])
_DATA_CHANGES = tuple(text for text in COMMANDS if text.split()[0] in ("INSERT", "FROM", "UPDATE", "DELETE", "MERGE"))


@st.composite
def _between_gaps(draw: st.DrawFn, text: str) -> str:
    """Return the words of a text in any case, with spaces and comments between them."""
    words = [draw(_CASES)(word) if word.isalpha() else word for word in _WORDS.findall(text)]
    return draw(_GAPS) + "".join(f"{word} {draw(_GAPS)}" for word in words)


commands = st.one_of(
    st.sampled_from(COMMANDS), st.builds("{} {}".format, st.sampled_from(_CTES), st.sampled_from(_DATA_CHANGES))
).flatmap(_between_gaps)
"""Commands in any case, behind comments and common table expressions."""


@st.composite
def _plain_queries(draw: st.DrawFn) -> str:
    column = f"{draw(_STRINGS)} AS {draw(_NAMES)}"
    start = draw(st.sampled_from([f"SELECT {column} FROM", "FROM", "TABLE"]))
    end = {"FROM": f" SELECT {column}", "TABLE": f" |> SELECT {column}"}.get(start, "")
    return f"{start} {draw(_NAMES)}{end}"


_queries = st.recursive(
    _plain_queries(),
    lambda inner: st.one_of(
        inner.map("({})".format),
        st.builds("({}) UNION ALL ({})".format, inner, inner),
        st.builds("WITH {} AS ({}) ({})".format, _NAMES, inner, inner),
        st.builds("SELECT * FROM ({}) AS {}".format, inner, _NAMES),
    ),
    max_leaves=3,
)
queries = st.builds("{}{}".format, _queries, st.sampled_from(["", ";", " ; -- x", " /* ; */"]))
"""Queries whose strings, names and comments contain the words of commands."""
