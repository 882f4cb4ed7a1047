"""A user who triggers a run can fill templates with names, but never with SQL, driver settings or another host."""

from typing import Any

import pytest

from graph_compiler import Jdbc, Parquet, Secret, StreamExecutionEnvironment, Table
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.connectors.jdbc_url import same_database
from graph_compiler.declaration.connectors.table_name import parse_table_name
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.describe.templates import fill_places, find_places
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.staging.publications.places import find_place_problems

URL = "jdbc:postgresql://db/shop"
BOUNDS = {"partition_column": "id", "lower_bound": 0, "upper_bound": 9}


def region(source: Connector) -> RegionDescriptor:
    env = StreamExecutionEnvironment("p", params={"x": ""})
    env.from_source(source, "in").sink_to(Parquet("/out")).name("out")
    (found,) = describe_regions(compile_pipeline(env.pipeline()))
    return found


def filled(source: Connector, value: str) -> Connector:
    """Return a source as a run renders it; raises InvalidPipelineError if the value is refused."""
    declared = region(source)
    places = {key: text.replace("{{ params.x }}", value) for key, text in find_places([declared]).items()}
    (run,) = fill_places([declared], places)
    if problems := find_place_problems(run):
        raise InvalidPipelineError("p", problems)
    found, *_ = values_within(run, type(source))
    return found


def jdbc(**settings: Any) -> Jdbc:
    return Jdbc(settings.pop("url", URL), **{"table": "t"} | settings)


INJECTIONS = [
    "orders; DROP TABLE orders",
    "(SELECT * FROM secrets) t",
    "orders t, secrets",
    "pg_sleep(9)",
    'a"; DROP TABLE orders; --',
    '"orders"; DROP TABLE orders; --"',
    'x"."y',
    "orders -- ",
    "orders/**/t",
    "`a`b",
    "a\nb",
    "a\0b",
    "a\u202eb",
    '"a\'b"',
    " ",
    ".",
    "a..b",
    "a.",
    "a.b.c.d",
    "x" * 129,
]


@pytest.mark.parametrize("value", INJECTIONS)
@pytest.mark.parametrize("table", ["{{ params.x }}", "sales.{{ params.x }}", "a_{{ params.x }}.t"])
def test_a_rendered_table_is_one_name_or_is_refused(table: str, value: str) -> None:
    with pytest.raises(InvalidPipelineError, match="its table is rendered as"):
        filled(jdbc(table=table), value)


@pytest.mark.parametrize("table", ["{{ params.x }}", "sales.{{ params.x }}"])
def test_a_rendered_table_is_not_empty(table: str) -> None:
    with pytest.raises(InvalidPipelineError, match="its table is rendered as"):
        filled(jdbc(table=table), "")


@pytest.mark.parametrize(
    ("table", "value", "found"),
    [
        ("{{ params.x }}", "orders", "orders"),
        ("{{ params.x }}", "sales.Orders", "sales.Orders"),
        ("{{ params.x }}", '"Sales"."My Orders"', '"Sales"."My Orders"'),
        ('"{{ params.x }}"."Orders"', "a.b", '"a.b".Orders'),
        ("orders_{{ params.x }}", "2013", "orders_2013"),
        ("{{ params.x }}", "2013_orders", '"2013_orders"'),
        ("{{ params.x }}", "größe-1", '"größe-1"'),
    ],
)
def test_names_are_kept_and_quoted_where_needed(table: str, value: str, found: str) -> None:
    rendered = filled(jdbc(table=table), value)
    assert isinstance(rendered, Jdbc)
    assert rendered.table is not None
    texts = [part.text for part in parse_table_name(rendered.table) or ()]
    assert texts == [part.text for part in parse_table_name(found) or ()]


def test_a_rendered_value_adds_no_part_to_a_declared_name() -> None:
    with pytest.raises(InvalidPipelineError, match="it has 3 parts, and sales"):
        filled(jdbc(table="sales.{{ params.x }}"), "other.orders")


@pytest.mark.parametrize("table", ["(SELECT 1) t", "orders o, lines", "orders TABLESAMPLE (1)"])
def test_declared_names_without_templates_are_unchanged(table: str) -> None:
    assert filled(jdbc(table=table), "any") == jdbc(table=table)


@pytest.mark.parametrize("value", ["x?socketFactory=a.B", "x;y=z", "x&a=b", "x/y", "x:1", "a@b", "x y"])
def test_a_rendered_database_is_a_name(value: str) -> None:
    source = jdbc(url="jdbc:postgresql://db/{{ params.x }}?ssl=true")
    with pytest.raises(InvalidPipelineError, match="its url renders to more than names"):
        filled(source, value)
    assert filled(source, "shop_2").url == "jdbc:postgresql://db/shop_2?ssl=true"  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", ["0 OR 1=1", "0; DROP TABLE t", "'1'", "soon", ""])
@pytest.mark.parametrize("bound", ["lower_bound", "upper_bound"])
def test_a_rendered_bound_is_a_number_or_a_date(bound: str, value: str) -> None:
    with pytest.raises(InvalidPipelineError, match="its bounds are wrong|partition_column needs"):
        filled(jdbc(**BOUNDS | {bound: "{{ params.x }}"}), value)


def test_a_rendered_option_is_one_line() -> None:
    source = jdbc(options={"ApplicationName": "{{ params.x }}"})
    assert filled(source, "manual__2013-01-01T00:00:00+00:00")
    with pytest.raises(InvalidPipelineError, match="option 'ApplicationName' is rendered as"):
        filled(source, "a\nb")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"table": "orders WHERE d = {{ params.x }}"}, "its table contains a template in"),
        ({"table": "({{ params.x }}) t"}, "its table contains a template in"),
        ({"table": None, "query": "SELECT {{ params.x }}"}, "its query contains a template"),
        ({"url": "{{ params.x }}"}, "its url contains a template before its database"),
        ({"url": "jdbc:{{ params.x }}://db/shop"}, "its url contains a template before its database"),
        ({"url": "jdbc:postgresql://{{ params.x }}/shop"}, "the password would go to any host"),
        ({"url": URL + "?{{ params.x }}"}, "its url contains a template among its parameters"),
        ({"url": URL + "?options={{ params.x }}"}, "its url contains a template among its parameters"),
        ({"url": URL + "{% if params.x %}2{% endif %}"}, "its url contains a template that is not"),
        (BOUNDS | {"partition_column": "{{ params.x }}"}, "its partition_column contains a template"),
        ({"driver": "{{ params.x }}"}, "its driver contains a template"),
        *(
            ({"options": {option: "{{ params.x }}"}}, f"its option '{option}' contains a template")
            for option in (
                *("sessionInitStatement", "prepareQuery", "customSchema", "socketFactory"),
                *("createTableOptions", "createTableColumnTypes", "hint", "connectionProvider"),
                *("isolationLevel", "driver", "options", "sslfactory", "loggerFile", "keytab"),
            )
        ),
        *(
            ({"options": {option: "x"}}, f"its options hold '{option}'")
            for option in ("url", "dbTable", "query", "partitionColumn", "lowerBound", "upperBound")
        ),
    ],
)
def test_templates_are_refused_in_sql_and_driver_settings(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidPipelineError, match=words):
        region(jdbc(**settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "jdbc:postgresql://{{ conn.shop.host }}/{{ conn.shop.schema }}"},
        {"url": "{{ var.value.shop_url }}"},
        {"options": {"sessionInitStatement": "{{ var.value.shop_init }}"}},
        {"user": "{{ params.x }}", "password": Secret("shop")},
    ],
)
def test_deployment_values_are_allowed_anywhere(settings: dict[str, Any]) -> None:
    region(jdbc(**settings))


@pytest.mark.parametrize("name", ["parquet.`/etc`", "`a`", "a b", "a;b", ""])
def test_a_rendered_table_of_the_catalog_is_a_name(name: str) -> None:
    with pytest.raises(InvalidPipelineError, match="its name is rendered as"):
        filled(Table("{{ params.x }}"), name)
    assert filled(Table("{{ params.x }}"), "db.sales") == Table("db.sales")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (jdbc(table="orders"), jdbc(table="Orders")),
        (jdbc(table="orders"), jdbc(table='"orders"')),
        (jdbc(), jdbc(url="jdbc:postgresql://DB:5432/shop?ssl=true")),
        (jdbc(), jdbc(url=URL + "/")),
    ],
)
def test_one_table_written_two_ways_is_one_place(one: Jdbc, other: Jdbc) -> None:
    assert one.meets(other)


@pytest.mark.parametrize(
    "other",
    [
        jdbc(table='"T"'),
        jdbc(table="s.t"),
        jdbc(url="jdbc:postgresql://db:5433/shop"),
        jdbc(url="jdbc:postgresql://db/Shop"),
        jdbc(url=Secret("shop", "url")),
        jdbc(table=None, query="t"),
        Table("t"),
    ],
)
def test_other_tables_are_other_places(other: Connector) -> None:
    assert not jdbc().meets(other)


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("jdbc:postgresql://A,b:5433/x?y=z", "jdbc:postgresql://a:5432,b:5433/x"),
        ("jdbc:postgresql:///x", "jdbc:postgresql://localhost:5432/x"),
        ("jdbc:postgresql://[::1]/x", "jdbc:postgresql://[::1]:5432/x"),
        ("jdbc:mysql://h/x", "jdbc:mysql://h:3306/x"),
        ("jdbc:sqlserver://h;databaseName=x", "jdbc:sqlserver://h;databaseName=x"),
        ("jdbc:postgresql:x", "jdbc:postgresql:x"),
    ],
)
def test_equivalent_urls_have_one_spelling(url: str, same: str) -> None:
    assert same_database(url) == same
