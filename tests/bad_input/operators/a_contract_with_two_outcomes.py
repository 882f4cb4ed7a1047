from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.expect("paid", "amount > 0", on_violation="drop", to="unpaid").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_contract_with_two_outcomes.py: pipeline 'sales' has 1 problem
#   after 'orders': contract 'paid' has both on_violation= and to=
#     allowed: one of the two
#     declared at pipelines/a_contract_with_two_outcomes.py:5
