from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.expect("percent", "amount > 0", max_share=5)
orders.expect("all", "amount > 0", max_share=1)
orders.expect("negative", "amount > 0", max_share=-0.1)
orders.expect("not a number", "amount > 0", max_share=float("nan"))
orders.expect("infinite", "amount > 0", max_share=float("inf"))
orders.expect("undeclared", "amount > 0", max_share=param("share"))
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/shares_that_are_none.py: pipeline 'sales' has 6 problems
#   percent: its max_share is 5.0
#     allowed: 0 or more, less than 1: 0.05 is 5 %
#     declared at pipelines/shares_that_are_none.py:5
#   all: its max_share is 1.0
#     allowed: 0 or more, less than 1: 0.05 is 5 %
#     declared at pipelines/shares_that_are_none.py:6
#   negative: its max_share is -0.1
#     allowed: 0 or more, less than 1: 0.05 is 5 %
#     declared at pipelines/shares_that_are_none.py:7
#   not a number: its max_share is nan
#     allowed: 0 or more, less than 1: 0.05 is 5 %
#     declared at pipelines/shares_that_are_none.py:8
#   infinite: its max_share is inf
#     allowed: 0 or more, less than 1: 0.05 is 5 %
#     declared at pipelines/shares_that_are_none.py:9
#   undeclared: parameter 'share' is not declared
#     allowed: run_date
#     hint: declare it in the pipeline's params
#     declared at pipelines/shares_that_are_none.py:10
