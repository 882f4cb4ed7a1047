"""The sales of a day: five scripts as one pipeline, in operators, with its own settings."""

import os

from graph_compiler import Csv, Json, Parquet, SlotSharingGroup, StreamExecutionEnvironment

ORDERS = "order_id INT, customer_id INT, product_id STRING, quantity STRING, price DECIMAL(10,2), ordered_at TIMESTAMP"

env = StreamExecutionEnvironment(
    "sales",
    description="What was sold on a day, by country, category and customer.",
    params={
        "shop": {"default": os.environ.get("SHOP_DATA", "/data/shop"), "title": "Folder"},
        "top": {"default": 2, "minimum": 1, "description": "Customers of each country."},
    },
    config={
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 2,
        "restart-strategy.fixed-delay.delay": "30 s",
        "spark.sql.shuffle.partitions": 8,
    },
)
small = SlotSharingGroup("small", driver_memory="1g")

orders = env.from_source(Csv("{{ params.shop }}/in/orders/{{ ds }}.csv", schema=ORDERS), "orders")
customers = env.from_source(
    Csv("{{ params.shop }}/in/customers.csv", schema="customer_id INT, country STRING"), "customers"
)
products = env.from_source(
    Json("{{ params.shop }}/in/products.json", schema="product_id STRING, category STRING"), "products"
)
for source in (orders, customers, products):
    source.slot_sharing_group(small)  # the operators after them are in it, too

complete = (
    orders.deduplicate("order_id", order_by="ordered_at")
    .with_columns(quantity="try_cast(quantity AS INT)")
    .with_columns(amount="quantity * price", hour="hour(from_utc_timestamp(ordered_at, 'Europe/Berlin'))")
    .filter("quantity IS NOT NULL AND customer_id IS NOT NULL", rejects="rejected")
    .name("complete")
)
rejected = complete.get_side_output("rejected").select("order_id", "customer_id", "product_id", "price")
joined = (
    complete.expect("price_is_known", "price IS NOT NULL")
    .join(customers, on="customer_id", how="left")
    .join(products.broadcast(), on="product_id")
    .select(
        "order_id",
        "customer_id",
        "product_id",
        "category",
        "quantity",
        "amount",
        "hour",
        size="CASE WHEN quantity < 0 THEN 'return' WHEN quantity >= 10 THEN 'big' ELSE 'small' END",
        country="coalesce(country, 'unknown')",
    )
    .name("joined")
    .task_id("joins")
    .stage("the reports read it; a failure in one must not repeat the joins")
)

revenue = (
    joined.key_by("country", "category")
    .aggregate(
        revenue="sum(amount)",
        orders="count(*)",
        customers="count(DISTINCT customer_id)",
        returned="sum(CASE WHEN quantity < 0 THEN -quantity ELSE 0 END)",
        sold="sum(CASE WHEN quantity > 0 THEN quantity ELSE 0 END)",
    )
    .with_columns(return_rate="try_divide(returned, sold)")
    .name("revenue")
    .task_id("reports")
)
by_country = "PARTITION BY country ORDER BY revenue DESC, customer_id"
ranking = (
    joined.key_by("country", "customer_id")
    .aggregate(revenue="sum(amount)")
    .with_columns(rank=f"row_number() OVER ({by_country})")
    .filter("rank <= :top")
    .with_columns(so_far=f"sum(revenue) OVER ({by_country})")
    .name("ranking")
)
history = (
    joined.key_by("country", "size", "hour")
    .aggregate(orders="count(*)", revenue="sum(amount)")
    .with_columns(day=":run_date")
    .name("history")
)

rejected.sink_to(Csv("{{ params.shop }}/out/rejected/day={{ ds }}"), files=1).name("rejected")
joined.sink_to(Parquet("{{ params.shop }}/out/enriched/day={{ ds }}"), partition_by=("country",)).name("enriched")
revenue.sink_to(Parquet("{{ params.shop }}/out/revenue/day={{ ds }}"), files=1).name("revenue")
ranking.sink_to(Parquet("{{ params.shop }}/out/ranking/day={{ ds }}"), files=1).name("ranking")
history.sink_to(Parquet("{{ params.shop }}/out/history"), mode="overwrite-partitions", partition_by=("day",)).name(
    "history"
)
