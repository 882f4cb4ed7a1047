from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment


class Visits(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").process(Visits).sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_class_with_state_without_a_schema.py: pipeline 'sales' has 1 problem
#   after 'orders': process was given the class Visits without a schema
#     allowed: process(Class, schema="user STRING, n BIGINT")
#     declared at pipelines/a_class_with_state_without_a_schema.py:11
