from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment


class Visits(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").process(Visits, "id INT").stage("for later").filter("id > 1").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_process_that_is_staged.py: pipeline 'sales' has 1 problem
#   Keyed Process: its rows are staged, and they never end
#     allowed: results of bounded sources; on a stream, all of it is one application
#     hint: leave out stage()
#     declared at pipelines/a_process_that_is_staged.py:11
