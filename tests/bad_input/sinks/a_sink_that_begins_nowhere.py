from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", params={"output": "out"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("output/orders")).name("literal")
orders.sink_to(Parquet("{{ params.output }}/orders")).name("by_default")
# graph-compiler validate says:
# pipelines/a_sink_that_begins_nowhere.py: pipeline 'sales' has 2 problems
#   literal: its target is 'output/orders': a relative path
#     allowed: an absolute path, a file: URI, s3a://bucket/prefix, or hdfs://host:port/path
#     hint: a parameter's default can be built from the file's location: Path(__file__), or format: path in YAML
#     declared at pipelines/a_sink_that_begins_nowhere.py:5
#   by_default: its target is 'out/orders': a relative path
#     allowed: an absolute path, a file: URI, s3a://bucket/prefix, or hdfs://host:port/path
#     hint: a parameter's default can be built from the file's location: Path(__file__), or format: path in YAML
#     declared at pipelines/a_sink_that_begins_nowhere.py:6
