from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter(3).sink_to(Parquet("/out/a")).name("a")
orders.filter("amount > :least").sink_to(Parquet("out/b")).name("b")
customers = env.from_source(Csv("/in/customers.csv", nullvalue="NA"), "customers")
customers.filter("age > 18").sink_to(Parquet("/out/c")).name("c")
orders.filter("amount > :most").sink_to(Parquet("/out/d")).name("d")
# graph-compiler validate says:
# pipelines/a_constructor_among_other_mistakes.py: pipeline 'sales' has 5 problems
#   after 'orders': filter was given condition=3
#     allowed: text
#     declared at pipelines/a_constructor_among_other_mistakes.py:5
#   b: its target is 'out/b': a relative path
#     allowed: an absolute path, a file: URI, s3a://bucket/prefix, or hdfs://host:port/path
#     hint: a parameter's default can be built from the file's location: Path(__file__), or format: path in YAML
#     declared at pipelines/a_constructor_among_other_mistakes.py:6
#   Filter: parameter 'least' is not declared
#     allowed: run_date
#     hint: declare it in the pipeline's params
#     declared at pipelines/a_constructor_among_other_mistakes.py:6
#   Csv has no parameter 'nullvalue'
#     allowed: Csv(path, schema=None, on_schema_change=None, options=(), if_missing=None, on_misfit=None, rejects=None, header=True, null_value='')
#     hint: did you mean 'null_value'?
#     declared at pipelines/a_constructor_among_other_mistakes.py:7
#   Filter: parameter 'most' is not declared
#     allowed: run_date
#     hint: declare it in the pipeline's params
#     declared at pipelines/a_constructor_among_other_mistakes.py:9
