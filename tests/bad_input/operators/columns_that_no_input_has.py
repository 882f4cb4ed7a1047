from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders", schema="id INT, customer INT, amount DOUBLE"), "orders")
customers = env.from_source(Csv("/in/customers", schema="customer INT, name STRING"), "customers")
large = orders.filter("amuont > 5").name("large")
named = large.join(customers, on={"customer": "id"}).name("named")
named.key_by("nam").aggregate(total="sum(price)").name("totals").sink_to(Parquet("/out/totals")).name("out")
large.filter("amount").name("all").sink_to(Parquet("/out/all"), mode="merge", keys=["di"]).name("merged")
# graph-compiler validate says:
# pipelines/columns_that_no_input_has.py: pipeline 'sales' has 7 problems
#   large: there is no column 'amuont', which 'amuont > 5' reads
#     allowed: id, customer and amount
#     hint: did you mean 'amount'?
#     declared at pipelines/columns_that_no_input_has.py:6
#   named: there is no column 'id'
#     allowed: customer and name
#     declared at pipelines/columns_that_no_input_has.py:7
#   named: both sides of the join have columns called customer
#     hint: rename one: rename({"customer": "customer_2"}), or join on it too
#     declared at pipelines/columns_that_no_input_has.py:7
#   totals: there is no column 'nam'
#     allowed: id, customer, amount, customer and name
#     hint: did you mean 'name'?
#     declared at pipelines/columns_that_no_input_has.py:8
#   totals: there is no column 'price', which 'sum(price)' reads
#     allowed: id, customer, amount, customer and name
#     declared at pipelines/columns_that_no_input_has.py:8
#   all: its condition 'amount' is DOUBLE
#     allowed: a condition, which is BOOLEAN
#     declared at pipelines/columns_that_no_input_has.py:9
#   merged: there is no column 'di'
#     allowed: id, customer and amount
#     declared at pipelines/columns_that_no_input_has.py:9
