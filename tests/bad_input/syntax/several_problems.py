from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter(3).name("paid").sink_to(Parquet("/out"))
joined = orders.join(orders, on="id", how="outer")
joined.filter("also wrong, but for no fault of its own").sink_to(Parquet("/joined"))
orders.filter("amount > :nobody").name("a").set_parallelism(0).sink_to(Parquet("/a")).name("to_a")
orders.transform(lambda rows: rows).sink_to(Parquet("/b"))
orders.sink_to(Parquet("/a")).name("to_a_too")
# graph-compiler validate says:
# pipelines/several_problems.py: pipeline 'sales' has 6 problems
#   after 'orders': filter was given condition=3
#     allowed: text
#     declared at pipelines/several_problems.py:5
#   after 'orders': there is no join type 'outer'
#     allowed: inner, left, right, full, semi, anti and cross
#     hint: did you mean 'full'?
#     declared at pipelines/several_problems.py:6
#   a: parallelism is 0
#     allowed: a whole number from 1 to 32768, or unset
#     declared at pipelines/several_problems.py:8
#   a: parameter 'nobody' is not declared
#     allowed: run_date
#     hint: declare it in the pipeline's params
#     declared at pipelines/several_problems.py:8
#   after 'orders': transform cannot take this function: a lambda has no name; Spark imports functions by name, in another process
#     allowed: a function defined with `def` at the top level of an importable module
#     hint: move it to a module in pipelines/ and pass it by its name there
#     declared at pipelines/several_problems.py:9
#   to_a_too: it writes /a, and 'to_a' writes /a (pipelines/several_problems.py:8)
#     hint: give each its own target; union(…) combines two streams into one sink
#     declared at pipelines/several_problems.py:10
