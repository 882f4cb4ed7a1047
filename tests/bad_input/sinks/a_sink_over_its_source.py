from graph_compiler import Csv, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Csv("/in/orders.csv"), single_file=True).name("back")
# graph-compiler validate says:
# pipelines/a_sink_over_its_source.py: pipeline 'sales' has 1 problem
#   back: it replaces /in/orders.csv, and 'orders' reads /in/orders.csv
#     hint: write elsewhere: a retry would read what the first attempt wrote. from_target(…) reads what was there before the run
#     declared at pipelines/a_sink_over_its_source.py:5
