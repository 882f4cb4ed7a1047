from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
paid = orders.filter("amount > 0", name="paid")
paid.distinct(parallelism=2).sink_to(Parquet("/out"), name="report")
# graph-compiler validate says:
# pipelines/a_setting_as_an_argument.py: pipeline 'sales' has 2 problems
#   after 'orders': filter has no parameter 'name'
#     allowed: filter(condition, rejects=None)
#     hint: call .name(…) on what filter returns
#     declared at pipelines/a_setting_as_an_argument.py:5
#   a stream has no 'distinct': that is PySpark's
#     hint: `deduplicate()`
#     declared at pipelines/a_setting_as_an_argument.py:6
