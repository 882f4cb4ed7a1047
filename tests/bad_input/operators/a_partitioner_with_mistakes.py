from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", params={"parts": 7})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.partition_custom("id - :part").filter("id > 0").sink_to(Parquet("/out"))
orders.partition_custom("id - {{ params.parts }}").filter("id > 1").sink_to(Parquet("/other"))
orders.partition_custom("id /* the key").filter("id > 2").sink_to(Parquet("/third"))
orders.partition_custom(" ").filter("id > 3").sink_to(Parquet("/fourth"))
# graph-compiler validate says:
# pipelines/a_partitioner_with_mistakes.py: pipeline 'sales' has 4 problems
#   partition: it has an empty expression
#     allowed: Spark SQL
#     declared at pipelines/a_partitioner_with_mistakes.py:8
#   partition: the expression 'id - {{ params.parts }}' contains the template {{ params.parts }}
#     allowed: templates in paths and connector options; parameters in expressions
#     hint: declare it in the pipeline's params and write :parts, which is bound as a value
#     declared at pipelines/a_partitioner_with_mistakes.py:6
#   partition: the expression 'id /* the key' has /* without */
#     allowed: one expression
#     declared at pipelines/a_partitioner_with_mistakes.py:7
#   partition: parameter 'part' is not declared
#     allowed: parts and run_date
#     hint: did you mean 'parts'?
#     declared at pipelines/a_partitioner_with_mistakes.py:5
