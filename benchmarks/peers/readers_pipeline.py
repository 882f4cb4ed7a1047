"""The first steps of the 14, and up to eight reports that each read the enriched orders."""

from __future__ import annotations

from benchmarks.peers.declared_pipeline import Cuts, enriched_orders
from graph_compiler import Parquet, StreamExecutionEnvironment

REPORTS: dict[str, tuple[str, ...]] = {
    "by_category": ("category",),
    "by_country": ("country",),
    "by_segment": ("segment", "country"),
    "by_day": ("day",),
    "by_status": ("status", "category"),
    "by_domain": ("email_domain",),
    "by_product": ("product_id",),
    "by_discount": ("discount_pct",),
}
"""The columns that each report groups by."""


def declare(readers: int, cuts: Cuts) -> StreamExecutionEnvironment:
    """Declare the pipeline with as many reports; what they read is staged, or computed for each of them."""
    env = StreamExecutionEnvironment("peers_readers", params={"input": "/data", "output": "/out"})
    enriched = cuts.at(enriched_orders(env))
    for name in list(REPORTS)[:readers]:
        totals = enriched.key_by(*REPORTS[name]).aggregate(
            orders="count(*)", quantity="sum(quantity)", amount_cents="sum(amount_cents)"
        )
        totals.name(f"{name}_totals").sink_to(Parquet(f"{{{{ params.output }}}}/{name}")).name(name)
    return env
