from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"pipeline.auto-generate-uids": False})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.uid("orders").filter("x").name("paid").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/uids_that_must_be_there.py: pipeline 'sales' has 2 problems
#   paid: it has neither uid nor uid hash, but pipeline.auto-generate-uids is false
#     hint: set .uid("…"), or remove the option
#     declared at pipelines/uids_that_must_be_there.py:5
#   Sink: it has neither uid nor uid hash, but pipeline.auto-generate-uids is false
#     hint: set .uid("…"), or remove the option
#     declared at pipelines/uids_that_must_be_there.py:5
