from graph_compiler import Csv, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Csv("/out", seperator=";"))
# graph-compiler validate says:
# pipelines/a_connector_with_an_odd_argument.py: pipeline 'a_connector_with_an_odd_argument' has 1 problem
#   it cannot be loaded: `orders.sink_to(Csv("/out", seperator=";"))` raised TypeError: Csv() got an unexpected keyword argument 'seperator'
#     allowed: Csv(path, schema=None, on_schema_change=None, options=(), header=True, null_value='')
#     declared at pipelines/a_connector_with_an_odd_argument.py:5
