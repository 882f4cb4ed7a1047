from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment


class Visits(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.process(Visits, outputs=("late",)).sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_class_with_state_of_all_rows.py: pipeline 'sales' has 1 problem
#   after 'orders': process was given the class Visits, and its rows have no key
#     allowed: a class with state behind key_by(…); a function of DataFrames
#     declared at pipelines/a_class_with_state_of_all_rows.py:11
