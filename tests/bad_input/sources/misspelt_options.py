from graph_compiler import Csv, Files, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv", options={"delimeter": ";", "Sep": ";"}), "orders")
lines = env.from_source(Files(format="XML", path="/in", options={"rowtags": "order"}), "lines")
orders.sink_to(Parquet("/out/a", options={"parquet.block.size": 1, "mergeSchemas": True})).name("a")
lines.sink_to(Files(format="avro", path="/out/b", options={"anything": 1})).name("b")
# graph-compiler validate says:
# pipelines/misspelt_options.py: pipeline 'sales' has 3 problems
#   orders: Spark's csv files have no option 'delimeter', and Spark would ignore it
#     allowed: delimiter and others: those of Spark's documentation
#     hint: did you mean 'delimiter'?
#     declared at pipelines/misspelt_options.py:4
#   lines: Spark's xml files have no option 'rowtags', and Spark would ignore it
#     allowed: rowTag, rootTag and others: those of Spark's documentation
#     hint: did you mean 'rowTag'?
#     declared at pipelines/misspelt_options.py:5
#   a: Spark's parquet files have no option 'mergeSchemas', and Spark would ignore it
#     allowed: mergeSchema and others: those of Spark's documentation
#     hint: did you mean 'mergeSchema'?
#     declared at pipelines/misspelt_options.py:6
