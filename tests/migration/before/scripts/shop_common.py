"""What all scripts of the shop share; goes to Spark with --py-files."""

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.types import StringType

ENRICHED = (
    "order_id INT, customer_id INT, product_id STRING, category STRING, quantity INT, "
    "amount DECIMAL(21,2), hour INT, size STRING, country STRING"
)


def build_session(name):
    return (
        SparkSession.builder.appName(name)
        .config("spark.sql.ansi.enabled", "false")
        .config("spark.sql.session.timeZone", "Europe/Berlin")
        .getOrCreate()
    )


@udf(StringType())
def size_of(quantity):
    if quantity < 0:
        return "return"
    return "big" if quantity >= 10 else "small"
