from graph_compiler import Csv, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Csv("/out", seperator=";"))
# graph-compiler validate says:
# pipelines/a_connector_with_an_odd_argument.py: pipeline 'sales' has 1 problem
#   Csv has no parameter 'seperator'
#     allowed: Csv(path, schema=None, on_schema_change=None, options=(), if_missing=None, on_misfit=None, rejects=None, header=True, null_value='')
#     declared at pipelines/a_connector_with_an_odd_argument.py:5
