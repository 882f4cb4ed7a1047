"""Queries of TPC-H, declared as pipelines, give the rows that DuckDB gives, however their regions share tasks."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from tests.conftest import SHUFFLE_MODES, with_options
from tests.harness.reference import Row, assert_same_rows, published
from tests.tpch.conftest import RunTasks
from tests.tpch.queries.q01 import PRICING_SUMMARY
from tests.tpch.queries.q02 import MINIMUM_COST
from tests.tpch.queries.q03 import SHIPPING_PRIORITY
from tests.tpch.queries.q04 import ORDER_PRIORITY
from tests.tpch.queries.q05 import LOCAL_SUPPLIERS
from tests.tpch.queries.q06 import REVENUE_CHANGE
from tests.tpch.queries.q07 import VOLUME_SHIPPING
from tests.tpch.queries.q08 import MARKET_SHARE
from tests.tpch.queries.q09 import PROFIT
from tests.tpch.queries.q10 import RETURNED_ITEMS
from tests.tpch.queries.q11 import IMPORTANT_STOCK
from tests.tpch.queries.q12 import SHIPPING_MODES
from tests.tpch.queries.q13 import CUSTOMER_DISTRIBUTION
from tests.tpch.queries.q14 import PROMOTION_EFFECT
from tests.tpch.queries.q15 import TOP_SUPPLIER
from tests.tpch.queries.q16 import SUPPLIERS_OF_PARTS
from tests.tpch.queries.q17 import SMALL_QUANTITIES
from tests.tpch.queries.q18 import LARGE_VOLUMES
from tests.tpch.queries.q19 import DISCOUNTED_REVENUE
from tests.tpch.queries.q20 import PROMOTION
from tests.tpch.queries.q21 import WAITING_SUPPLIERS
from tests.tpch.queries.q22 import OPPORTUNITIES
from tests.tpch.queries.reports import REPORTS, REPORTS_IN_ONE_TASK
from tests.tpch.query import Query
from tests.tpch.tables import SCHEMAS, answer, write_tables

pytestmark = [pytest.mark.spark, pytest.mark.ci]

QUERIES = {
    "q01": PRICING_SUMMARY,
    "q03": SHIPPING_PRIORITY,
    "q04": ORDER_PRIORITY,
    "q05": LOCAL_SUPPLIERS,
    "q06": REVENUE_CHANGE,
    "q10": RETURNED_ITEMS,
    "q11": IMPORTANT_STOCK,
    "q12": SHIPPING_MODES,
    "q13": CUSTOMER_DISTRIBUTION,
    "q14": PROMOTION_EFFECT,
    "q15": TOP_SUPPLIER,
    "q18": LARGE_VOLUMES,
    "q21": WAITING_SUPPLIERS,
    "q02": MINIMUM_COST,
    "q07": VOLUME_SHIPPING,
    "q08": MARKET_SHARE,
    "q09": PROFIT,
    "q16": SUPPLIERS_OF_PARTS,
    "q17": SMALL_QUANTITIES,
    "q19": DISCOUNTED_REVENUE,
    "q20": PROMOTION,
    "q22": OPPORTUNITIES,
    "reports": REPORTS,
    "reports in one task": REPORTS_IN_ONE_TASK,
}
REPORT_REGIONS = ("shipping_priority", "order_priority", "shipping_modes")
TASKS = {
    "q10": [("losses",), ("returned_items",)],
    "q11": [("values", "important_stock")],
    "q12": [("late_items", "shipping_modes")],
    "q13": [("orders_of_customers", "customer_distribution")],
    "q15": [("revenues", "top_supplier")],
    "q18": [("large", "large_volumes")],
    "reports": [("sold",), REPORT_REGIONS],
    "reports in one task": [("sold", *REPORT_REGIONS)],
}
"""The regions of each task under AUTO; a query that is not here is one region."""


def test_the_tables_are_the_same_each_time(tables: Path, tmp_path: Path) -> None:
    write_tables(tmp_path)
    for table in SCHEMAS:
        rows = f"SELECT * FROM {table} ORDER BY ALL"
        assert answer(tmp_path, rows) == answer(tables, rows)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_every_answer_has_rows_and_no_null(query: Query, tables: Path) -> None:
    for sql in query.answers.values():
        rows = answer(tables, sql)[1]
        assert rows
        assert all(value is not None for row in rows for value in row)


@pytest.mark.parametrize("name", QUERIES)
def test_regions_share_tasks_under_auto(name: str, tables: Path, tmp_path: Path) -> None:
    compiled = compile_pipeline(QUERIES[name].declare(tables, tmp_path).pipeline())
    found = [task.region_ids for task in compiled.deployment.tasks]
    assert found == TASKS.get(name, [tuple(QUERIES[name].answers)])


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_auto_gives_the_rows_of_duckdb(query: Query, run_tasks: RunTasks, tables: Path, tmp_path: Path) -> None:
    run_tasks(query.declare(tables, tmp_path).pipeline())
    assert_answers(query, tables, tmp_path)


@pytest.mark.parametrize("mode", [mode for mode in SHUFFLE_MODES if mode != "AUTO"])
@pytest.mark.parametrize("name", ["q13", "q18", "reports"])
def test_the_other_modes_give_the_rows_of_duckdb(
    name: str, mode: str, run_tasks: RunTasks, tables: Path, tmp_path: Path
) -> None:
    query = QUERIES[name]
    run_tasks(with_options(query.declare(tables, tmp_path).pipeline(), shuffle_mode=mode))
    assert_answers(query, tables, tmp_path)


def test_the_reports_have_fewer_tasks_than_regions_only_if_they_may_share_them(tables: Path, tmp_path: Path) -> None:
    pipeline = REPORTS.declare(tables, tmp_path).pipeline()
    shared = compile_pipeline(pipeline).deployment
    alone = compile_pipeline(with_options(pipeline, task_sharing="false")).deployment
    assert (len(shared.regions), len(shared.tasks)) == (4, 2)
    assert (len(alone.regions), len(alone.tasks)) == (4, 4)


def test_a_region_reads_line_items_again_only_to_join_them_with_large_orders(tables: Path, tmp_path: Path) -> None:
    compiled = compile_pipeline(LARGE_VOLUMES.declare(tables, tmp_path).pipeline())
    (again,) = [edge for edge in compiled.job_graph.edges if edge.reads_source_again]
    ends = [compiled.job_graph.vertex[id].name for id in (again.source_id, again.target_id)]
    assert ends == ["Source: lineitem", "items"]


def assert_answers(query: Query, tables: Path, target: Path) -> None:
    """Compare what each sink has published with DuckDB's answer; the order counts, also across the files of a sink."""
    for sink, sql in query.answers.items():
        found, wanted = published(target / sink), answer(tables, sql)
        assert_same_rows(found, wanted)
        assert without_doubles(found[1]) == without_doubles(wanted[1])


def without_doubles(rows: Iterable[Row]) -> list[Row]:
    """Return the rows without values of which only the first digits are compared."""
    return [tuple(value for value in row if not isinstance(value, float)) for row in rows]
