"""The sales of a day, on rows written here."""

from decimal import Decimal

import pytest

from pipelines.sales import env

pytestmark = [pytest.mark.spark, pytest.mark.ci]


@pytest.fixture
def sources():
    def order(id, customer, quantity, at="2026-01-05T10:00:00Z", product="p1"):
        return {
            "order_id": id,
            "customer_id": customer,
            "product_id": product,
            "quantity": quantity,
            "price": Decimal("2.50"),
            "ordered_at": at,
        }

    return {
        "orders": [
            order(1, 7, "10", at="2026-01-05T23:30:00Z"),
            order(1, 7, "10", at="2026-01-05T23:30:00Z"),
            order(2, 8, "1"),
            order(3, 9, "-2", product="p2"),
            order(4, 7, "n/a"),
            order(5, None, "1"),
        ],
        "customers": [{"customer_id": 7, "country": "at"}, {"customer_id": 8, "country": "at"}],
        "products": [{"product_id": "p1", "category": "tea"}, {"product_id": "p2", "category": "cups"}],
    }


def test_orders_that_are_not_complete_are_put_aside(pipeline_run, sources):
    result = pipeline_run(env, sources, until="rejected")
    result.assert_rows("complete.rejected", [{"order_id": 4}, {"order_id": 5}])


def test_hours_are_those_of_the_shop(pipeline_run, sources):
    result = pipeline_run(env, sources, until="joined")
    result.assert_rows(
        "joined",
        [
            {"order_id": 1, "hour": 0, "size": "big", "country": "at"},
            {"order_id": 2, "hour": 11, "size": "small", "country": "at"},
            {"order_id": 3, "hour": 11, "size": "return", "country": "unknown"},
        ],
    )


def test_there_is_no_rate_where_nothing_was_sold(pipeline_run, sources):
    result = pipeline_run(env, sources, until="revenue")
    result.assert_rows(
        "revenue",
        [
            {"category": "tea", "revenue": Decimal("27.50"), "return_rate": 0.0},
            {"category": "cups", "revenue": Decimal("-5.00"), "return_rate": None},
        ],
    )


def test_the_best_customer_of_each_country(pipeline_run, sources):
    result = pipeline_run(env, sources, params={"top": 1}, until="ranking")
    result.assert_rows(
        "ranking",
        [
            {"country": "at", "customer_id": 7, "so_far": Decimal("25.00")},
            {"country": "unknown", "customer_id": 9, "so_far": Decimal("-5.00")},
        ],
    )


def test_a_failed_report_does_not_repeat_the_joins(compiled_plan):
    plan = compiled_plan(env)
    plan.assert_tasks("joins", "reports")
    plan.assert_staged("joined", "revenue", because="DECLARED")
