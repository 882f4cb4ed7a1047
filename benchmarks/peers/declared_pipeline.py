"""The 14 steps declared with operators; a step is one to three of them, and the last has its name."""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler import DataStream, Parquet, StreamExecutionEnvironment

REASON = "a later failure does not repeat it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """Whether what several steps read is staged: in the same task, or for another one."""

    is_staged: bool = False
    same_task: bool = False

    def at(self, stream: DataStream) -> DataStream:
        """Return the stream, staged if that is wanted."""
        return stream.stage(REASON, same_task=self.same_task) if self.is_staged else stream


def declare(cuts: Cuts) -> StreamExecutionEnvironment:
    """Declare the pipeline, with cuts at its two fan-outs."""
    env = StreamExecutionEnvironment("peers_declared", params={"input": "/data", "output": "/out"})
    enriched = cuts.at(enriched_orders(env))
    customer_stats = (
        enriched.key_by("customer_id", "country", "segment")
        .aggregate(
            orders="count(*)",
            amount_cents="sum(amount_cents)",
            last_day="max(day)",
            categories="count(DISTINCT category)",
        )
        .name("customer_stats")
    )
    product_daily = (
        enriched.key_by("product_id", "name", "category", "day")
        .aggregate(quantity="sum(quantity)", amount_cents="sum(amount_cents)")
        .name("product_daily")
    )
    product_daily = cuts.at(product_daily)
    top_products = (
        product_daily.key_by("product_id", "name", "category")
        .aggregate(amount_cents="sum(amount_cents)")
        .top_n(100, "amount_cents DESC", "product_id")
        .name("top_products")
    )

    customer_stats.sink_to(Parquet("{{ params.output }}/sink_customer_stats")).name("sink_customer_stats")
    product_daily.sink_to(Parquet("{{ params.output }}/sink_product_daily")).name("sink_product_daily")
    top_products.sink_to(Parquet("{{ params.output }}/sink_top_products")).name("sink_top_products")
    return env


def enriched_orders(env: StreamExecutionEnvironment) -> DataStream:
    """Declare the sources, and the steps up to the orders with their customers and products."""
    orders = env.from_source(Parquet("{{ params.input }}/orders"), "read_orders")
    customers = env.from_source(Parquet("{{ params.input }}/customers"), "read_customers")
    products = env.from_source(Parquet("{{ params.input }}/products"), "read_products")

    clean_orders = (
        orders.filter("status IN ('paid', 'shipped') AND quantity > 0")
        .select(
            "order_id",
            "customer_id",
            "product_id",
            "quantity",
            "discount_pct",
            "status",
            note="upper(trim(note))",
            day="to_date(ts)",
        )
        .name("clean_orders")
    )
    clean_customers = (
        customers.filter("active AND country <> ''")
        .with_columns(email="lower(trim(email))", country="upper(country)")
        .with_columns(email_domain="element_at(split(email, '@'), -1)")
        .name("clean_customers")
    )
    clean_products = products.filter("list_price_cents > 0").with_columns(name="initcap(name)").name("clean_products")

    with_customers = clean_orders.join(
        clean_customers.select("customer_id", "country", "segment", "email_domain"), on="customer_id"
    ).name("enrich_customers")
    return (
        with_customers.join(clean_products, on="product_id")
        .with_columns(amount_cents="CAST(quantity * list_price_cents * (100 - discount_pct) / 100 AS BIGINT)")
        .name("enrich_products")
    )


env = declare(Cuts())
