from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
more = env.read.option("header", True).csv("/in/more.csv")
(
    orders.unionAll(more)
    .filter("amount > 0")
    .groupBy("customer")
    .count()
    .write.mode("overwrite")
    .parquet("/out/counts")
)
train, test = orders.randomSplit([0.8, 0.2])
# graph-compiler validate says:
# pipelines/names_of_pyspark.py: pipeline 'names_of_pyspark' has 6 problems
#   an environment has no 'read': that is PySpark's
#     hint: `env.from_source(Csv(path), "orders")`, or Parquet, Json, Orc, Text, Files, Jdbc, Table
#     declared at pipelines/names_of_pyspark.py:5
#   after 'orders': a stream has no 'unionAll': that is PySpark's
#     hint: `union(other)`
#     declared at pipelines/names_of_pyspark.py:7
#   a stream has no 'groupBy': that is PySpark's
#     hint: `key_by("country").aggregate(n="count(*)", total="sum(amount)")`
#     declared at pipelines/names_of_pyspark.py:9
#   a stream has no 'count': that is PySpark's
#     hint: `aggregate(n="count(*)")`
#     declared at pipelines/names_of_pyspark.py:10
#   a stream has no 'write': that is PySpark's
#     hint: `sink_to(Parquet(path))`; modes: `sink_to(Parquet(path), mode="append")`
#     declared at pipelines/names_of_pyspark.py:11
#   after 'orders': a stream has no 'randomSplit': that is PySpark's
#     hint: `filter("pmod(hash(id), 10) < 8", rejects="rest")`; the other rows are its side output rest
#     declared at pipelines/names_of_pyspark.py:14
