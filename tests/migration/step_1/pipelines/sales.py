"""The orders of a day, cleaned and joined with customers and products: two scripts as one pipeline."""

from pyspark.sql import DataFrame
from pyspark.sql.functions import udf
from pyspark.sql.types import StringType

from graph_compiler import Csv, Json, Parquet, StreamExecutionEnvironment

ORDERS = "order_id INT, customer_id INT, product_id STRING, quantity STRING, price DECIMAL(10,2), ordered_at TIMESTAMP"


@udf(StringType())
def size_of(quantity):
    if quantity < 0:
        return "return"
    return "big" if quantity >= 10 else "small"


def with_size(orders: DataFrame) -> DataFrame:
    return orders.withColumn("size", size_of("quantity"))


env = StreamExecutionEnvironment("sales", params={"shop": "/data/shop"})
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

rejected.sink_to(Csv("{{ params.shop }}/out/rejected/day={{ ds }}"), files=1).name("rejected")
enriched.sink_to(Parquet("{{ params.shop }}/out/enriched/day={{ ds }}"), partition_by=("country",)).name("enriched")
