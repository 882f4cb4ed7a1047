"""The eight tables of TPC-H, small and the same each time: names, types and kinds of values follow its specification.

Orders, line items and customers have the shape of scale 0.002. What the queries look for is more frequent than in the
specification's data, so that each query has rows also at this scale.
"""

from pathlib import Path

import duckdb

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment

SCHEMAS = {
    "region": "r_regionkey BIGINT, r_name STRING, r_comment STRING",
    "nation": "n_nationkey BIGINT, n_name STRING, n_regionkey BIGINT, n_comment STRING",
    "supplier": """s_suppkey BIGINT, s_name STRING, s_address STRING, s_nationkey BIGINT, s_phone STRING,
        s_acctbal DECIMAL(15,2), s_comment STRING""",
    "customer": """c_custkey BIGINT, c_name STRING, c_address STRING, c_nationkey BIGINT, c_phone STRING,
        c_acctbal DECIMAL(15,2), c_mktsegment STRING, c_comment STRING""",
    "part": """p_partkey BIGINT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT,
        p_container STRING, p_retailprice DECIMAL(15,2), p_comment STRING""",
    "partsupp": """ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INT, ps_supplycost DECIMAL(15,2),
        ps_comment STRING""",
    "orders": """o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus STRING, o_totalprice DECIMAL(15,2),
        o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING""",
    "lineitem": """l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT, l_quantity DECIMAL(15,2),
        l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2), l_returnflag STRING,
        l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING,
        l_shipmode STRING, l_comment STRING""",
}
"""Columns, in types that Spark and DuckDB both know by these names."""

_FILES = 2
"""Files of each table, so that Spark reads it in several partitions."""

_MACROS = """
CREATE MACRO draw(what, key, n) AS (hash(what, key) % n)::BIGINT;
CREATE MACRO pick(what, key, choices) AS choices[1 + draw(what, key, len(choices))];
CREATE MACRO money(what, key, least, most) AS (least + draw(what, key, (most - least) * 100 + 1) * 0.01);
CREATE MACRO phone(nation, key) AS format('{}-{:03d}-{:03d}-{:04d}', 10 + nation,
    100 + draw('area', key, 900), 100 + draw('exchange', key, 900), 1000 + draw('line', key, 9000));
CREATE MACRO text_of(what, key, choices, words) AS array_to_string(
    [pick(concat(what, word), key, choices) FOR word IN range(words)], ' ');
CREATE MACRO comment(what, key) AS text_of(what, key, [
    'special', 'requests', 'pending', 'deposits', 'furiously', 'carefully', 'packages', 'accounts', 'express', 'final',
    'ironic', 'bold', 'regular', 'unusual', 'quickly', 'blithely', 'theodolites', 'instructions', 'above', 'among'
], 4 + draw(concat(what, 'length'), key, 6));
"""

_ROWS = {
    "region": """
        SELECT key, ['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'][1 + key], comment('region', key)
        FROM range(5) t(key)""",
    "nation": """
        SELECT row_number() OVER () - 1, name, region, comment('nation', name)
        FROM (VALUES ('ALGERIA', 0), ('ARGENTINA', 1), ('BRAZIL', 1), ('CANADA', 1), ('EGYPT', 4), ('ETHIOPIA', 0),
            ('FRANCE', 3), ('GERMANY', 3), ('INDIA', 2), ('INDONESIA', 2), ('IRAN', 4), ('IRAQ', 4), ('JAPAN', 2),
            ('JORDAN', 4), ('KENYA', 0), ('MOROCCO', 0), ('MOZAMBIQUE', 0), ('PERU', 1), ('CHINA', 2), ('ROMANIA', 3),
            ('SAUDI ARABIA', 4), ('VIETNAM', 2), ('RUSSIA', 3), ('UNITED KINGDOM', 3), ('UNITED STATES', 1)
        ) t(name, region)""",
    "supplier": """
        SELECT key, format('Supplier#{:09d}', key), comment('s_address', key), key % 25, phone(key % 25, key),
            money('s_acctbal', key, -999, 9999),
            CASE WHEN key % 7 = 3 THEN 'Customer ' || comment('s_comment', key) || ' Complaints'
                 ELSE comment('s_comment', key) END
        FROM range(1, 26) t(key)""",
    "customer": """
        SELECT key, format('Customer#{:09d}', key), comment('c_address', key), nation, phone(nation, -key),
            money('c_acctbal', key, -999, 9999),
            pick('c_mktsegment', key, ['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY']),
            comment('c_comment', key)
        FROM (SELECT key, draw('c_nationkey', key, 25) AS nation FROM range(1, 301) t(key))""",
    "part": """
        SELECT key,
            text_of('p_name', key, ['almond', 'azure', 'blush', 'chocolate', 'cornflower', 'forest', 'green', 'ivory',
                'lemon', 'linen', 'maroon', 'navy', 'olive', 'peach', 'plum', 'salmon', 'smoke', 'tomato'], 5),
            format('Manufacturer#{}', maker), format('Brand#{}{}', maker, 1 + draw('p_brand', key, 5)),
            pick('type', key, ['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO']) || ' '
                || pick('finish', key, ['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED']) || ' '
                || pick('metal', key, ['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER']),
            1 + draw('p_size', key, 50),
            pick('size', key, ['SM', 'LG', 'MED', 'JUMBO', 'WRAP']) || ' '
                || pick('container', key, ['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM']),
            (90000 + (key // 10) % 20001 + 100 * (key % 1000)) * 0.01, comment('p_comment', key)
        FROM (SELECT key, 1 + draw('p_mfgr', key, 5) AS maker FROM range(1, 401) t(key))""",
    "partsupp": """
        SELECT part, 1 + (part + 5 * nth) % 25, 1 + draw('ps_availqty', 4 * part + nth, 9999),
            money('ps_supplycost', 4 * part + nth, 1, 1000), comment('ps_comment', 4 * part + nth)
        FROM range(1, 401) p(part), range(4) n(nth)""",
    # Keys have gaps, a third of the customers has no orders, and some orders are large.
    "bought": """
        SELECT (nth // 8) * 32 + nth % 8 AS order_key, 3 * draw('o_custkey', nth, 100) + 1 + nth % 2 AS customer,
            DATE '1992-01-01' + draw('o_orderdate', nth, 2406)::INT AS day, nth % 100 = 7 AS large,
            CASE WHEN large THEN 7 ELSE 1 + draw('lines', nth, 7) END AS lines
        FROM range(1, 3001) t(nth)""",
    "lineitem": """
        SELECT order_key, part, 1 + (part + 5 * draw('l_suppkey', key, 4)) % 25, line, quantity,
            quantity * p_retailprice, draw('l_discount', key, 11) * 0.01, draw('l_tax', key, 9) * 0.01,
            CASE WHEN received > DATE '1995-06-17' THEN 'N' ELSE pick('l_returnflag', key, ['R', 'A']) END,
            CASE WHEN shipped > DATE '1995-06-17' THEN 'O' ELSE 'F' END,
            shipped, day + (30 + draw('l_commitdate', key, 61))::INT, received,
            pick('l_shipinstruct', key, ['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN']),
            pick('l_shipmode', key, ['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB']),
            comment('l_comment', key)
        FROM (
            SELECT *, 8 * order_key + line AS key, 1 + draw('l_partkey', key, 400) AS part,
                CASE WHEN large THEN 35 ELSE 1 END + draw('l_quantity', key, CASE WHEN large THEN 16 ELSE 50 END)
                    AS quantity,
                day + (1 + draw('l_shipdate', key, 121))::INT AS shipped,
                shipped + (1 + draw('l_receiptdate', key, 30))::INT AS received
            FROM bought, range(1, 8) t(line) WHERE line <= lines
        ) JOIN part ON part = p_partkey""",
    "orders": """
        SELECT order_key, customer, CASE WHEN bool_and(l_linestatus = 'F') THEN 'F'
                WHEN bool_and(l_linestatus = 'O') THEN 'O' ELSE 'P' END,
            sum(l_extendedprice * (1 + l_tax) * (1 - l_discount)), day,
            pick('o_orderpriority', order_key, ['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW']),
            format('Clerk#{:09d}', 1 + draw('o_clerk', order_key, 2)), 0, comment('o_comment', order_key)
        FROM bought JOIN lineitem ON order_key = l_orderkey GROUP BY order_key, customer, day""",
}
"""The rows of each table; `bought` is what orders and line items have in common."""


def write_tables(folder: Path) -> None:
    """Write each table as Parquet to a folder with its name."""
    with duckdb.connect() as connection:
        connection.execute(_MACROS)
        for table, rows in _ROWS.items():
            if table not in SCHEMAS:
                connection.execute(f"CREATE TABLE {table} AS {rows}")
                continue
            connection.execute(f"CREATE TABLE {table} ({SCHEMAS[table]})")
            connection.execute(f"INSERT INTO {table} {rows}")
            (folder / table).mkdir(parents=True)
            for number in range(_FILES):
                connection.execute(
                    f"COPY (SELECT * FROM {table} WHERE rowid % {_FILES} = {number} ORDER BY rowid)"
                    f" TO '{folder}/{table}/{number}.parquet'"
                )


def source(env: StreamExecutionEnvironment, data: Path, table: str) -> DataStream:
    """Return a table of the folder as a source of a pipeline."""
    return env.from_source(Parquet(f"{data}/{table}", schema=SCHEMAS[table]), table)


def answer(data: Path, query: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """Return DuckDB's columns and rows of a query over the tables of the folder, in the query's order."""
    with duckdb.connect() as connection:
        for table in SCHEMAS:
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{data}/{table}/*.parquet')")
        result = connection.sql(query)
        return result.columns, result.fetchall()
