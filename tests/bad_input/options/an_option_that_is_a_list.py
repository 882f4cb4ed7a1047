from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"staging.ttl": ["7 d"]})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/an_option_that_is_a_list.py: pipeline 'sales' has 1 problem
#   option 'staging.ttl' is ['7 d']
#     allowed: text, a number, True or False
#     declared at pipelines/an_option_that_is_a_list.py:3
