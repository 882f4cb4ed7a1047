"""The sales of a day: five scripts as one pipeline."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.functions import udf
from pyspark.sql.types import StringType

from graph_compiler import Csv, Json, Parquet, StreamExecutionEnvironment, param

ORDERS = "order_id INT, customer_id INT, product_id STRING, quantity STRING, price DECIMAL(10,2), ordered_at TIMESTAMP"


@udf(StringType())
def size_of(quantity):
    if quantity < 0:
        return "return"
    return "big" if quantity >= 10 else "small"


def with_size(orders: DataFrame) -> DataFrame:
    return orders.withColumn("size", size_of("quantity"))


def ranked(enriched: DataFrame, top: int) -> DataFrame:
    by_country = Window.partitionBy("country").orderBy(F.desc("revenue"), "customer_id")
    return (
        enriched.groupBy("country", "customer_id")
        .agg(F.sum("amount").alias("revenue"))
        .withColumn("rank", F.row_number().over(by_country))
        .filter(F.col("rank") <= top)
        .withColumn("so_far", F.sum("revenue").over(by_country))
    )


env = StreamExecutionEnvironment("sales", params={"shop": "/data/shop", "top": 3})
orders = env.from_source(Csv("{{ params.shop }}/in/orders/{{ ds }}.csv", schema=ORDERS), "orders")
customers = env.from_source(
    Csv("{{ params.shop }}/in/customers.csv", schema="customer_id INT, country STRING"), "customers"
)
products = env.from_source(
    Json("{{ params.shop }}/in/products.json", schema="product_id STRING, category STRING"), "products"
)

clean = (
    orders.deduplicate("order_id", order_by="ordered_at")
    .with_columns(quantity="try_cast(quantity AS INT)")
    .with_columns(amount="quantity * price", hour="hour(from_utc_timestamp(ordered_at, 'Europe/Berlin'))")
    .filter("quantity IS NOT NULL AND customer_id IS NOT NULL", rejects="rejected")
    .name("clean")
)
rejected = clean.get_side_output("rejected").select("order_id", "customer_id", "product_id", "price")
enriched = (
    clean.join(customers, on="customer_id", how="left")
    .join(products.broadcast(), on="product_id")
    .with_columns(country="coalesce(country, 'unknown')")
    .transform(with_size)
    .select("order_id", "customer_id", "product_id", "category", "quantity", "amount", "hour", "size", "country")
    .name("enriched")
)

revenue = (
    enriched.key_by("country", "category")
    .aggregate(
        revenue="sum(amount)",
        orders="count(*)",
        customers="count(DISTINCT customer_id)",
        returned="sum(CASE WHEN quantity < 0 THEN -quantity ELSE 0 END)",
        sold="sum(CASE WHEN quantity > 0 THEN quantity ELSE 0 END)",
    )
    .with_columns(return_rate="try_divide(returned, sold)")
    .name("revenue")
)
ranking = enriched.transform(ranked, top=param("top")).name("ranking")
history = env.sql(
    """
    SELECT country, size, hour, count(*) AS orders, sum(amount) AS revenue, :run_date AS day
    FROM {enriched}
    GROUP BY country, size, hour
    """,
    enriched=enriched,
).name("history")

rejected.sink_to(Csv("{{ params.shop }}/out/rejected/day={{ ds }}"), files=1).name("rejected")
enriched.sink_to(Parquet("{{ params.shop }}/out/enriched/day={{ ds }}"), partition_by=("country",)).name("enriched")
revenue.sink_to(Parquet("{{ params.shop }}/out/revenue/day={{ ds }}"), files=1).name("revenue")
ranking.sink_to(Parquet("{{ params.shop }}/out/ranking/day={{ ds }}"), files=1).name("ranking")
history.sink_to(Parquet("{{ params.shop }}/out/history"), mode="overwrite-partitions", partition_by=("day",)).name(
    "history"
)
