from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment


class Visits(KeyedProcessFunction):
    def __init__(self, minutes=10):
        self.minutes = minutes

    def process_element(self, value, ctx):
        yield value


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").process(Visits, "id INT", minuts=3).sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_misspelt_argument_of_a_class.py: pipeline 'sales' has 1 problem
#   after 'orders': process binds 'minuts', but its function is Visits(minutes)
#     allowed: minutes
#     hint: did you mean 'minutes'?
#     declared at pipelines/a_misspelt_argument_of_a_class.py:14
