from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", params={"output": "gs://lake/out"})
orders = env.from_source(Csv("s3a://lake/orders.csv"), "orders")
orders.sink_to(Parquet("hdfs:///orders")).name("literal")
orders.sink_to(Parquet("{{ params.output }}/orders")).name("by_default")
orders.sink_to(Parquet("s3a://lake/%/{{ ds }}")).name("for_each_day")
orders.sink_to(Parquet("file://host/orders")).name("elsewhere")
orders.sink_to(Parquet("/out/../orders")).name("upwards")
orders.sink_to(Parquet("file:///out/orders")).name("right")
orders.sink_to(Parquet("file://{{ var.value.out }}/orders")).name("for_the_run_to_tell")
# graph-compiler validate says:
# pipelines/a_sink_without_a_store.py: pipeline 'sales' has 5 problems
#   literal: its target is 'hdfs:///orders': it names no NameNode, so each host could find a different place; write hdfs://host:port/path
#     allowed: an absolute path, a file: URI, s3a://bucket/prefix, or hdfs://host:port/path
#     declared at pipelines/a_sink_without_a_store.py:5
#   by_default: its target is 'gs://lake/out/orders': there is no store for 'gs:' yet, because none has been tried (docs/stores.md)
#     allowed: an absolute path, a file: URI, s3a://bucket/prefix, or hdfs://host:port/path
#     declared at pipelines/a_sink_without_a_store.py:6
#   for_each_day: its target is 's3a://lake/%/{{ ds }}': its prefix has characters besides letters, digits and !.*'()=~_-
#     allowed: an absolute path, a file: URI, s3a://bucket/prefix, or hdfs://host:port/path
#     declared at pipelines/a_sink_without_a_store.py:7
#   elsewhere: its target is 'file://host/orders': a file: URI needs an absolute path: file:///…
#     allowed: an absolute path, a file: URI, s3a://bucket/prefix, or hdfs://host:port/path
#     declared at pipelines/a_sink_without_a_store.py:8
#   upwards: its target is '/out/../orders': it contains '..'
#     allowed: an absolute path, a file: URI, s3a://bucket/prefix, or hdfs://host:port/path
#     declared at pipelines/a_sink_without_a_store.py:9
