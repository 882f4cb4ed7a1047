from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment


class Visits(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").process(Visits, "id INT", outputs=("late",)).sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_class_with_state_and_outputs.py: pipeline 'sales' has 1 problem
#   after 'orders': process was given the class Visits with outputs
#     allowed: process(Class, schema="user STRING, n BIGINT")
#     hint: a column of its rows can say which output they are for: filter(…) behind it
#     declared at pipelines/a_class_with_state_and_outputs.py:11
