from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment


class Visits(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").process(Visits, "id INT").sink_to(Parquet("/out"), mode="append")
orders.key_by("id").aggregate(m="count(*)").sink_to(Parquet("/totals"), mode="merge", keys="id")
# graph-compiler validate says:
# pipelines/a_total_beside_a_process.py: pipeline 'sales' has 1 problem
#   Aggregate: its values change all the time, and the rows of 'Keyed Process' are final
#     allowed: one of both in a pipeline
#     declared at pipelines/a_total_beside_a_process.py:12
