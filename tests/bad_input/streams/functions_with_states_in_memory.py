from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment, ValueStateDescriptor


class Visits(KeyedProcessFunction):
    last = ValueStateDescriptor("BIGINT")

    def process_element(self, value, ctx):
        yield value


config = {"execution.runtime-mode": "AUTOMATIC", "state.backend.type": "hashmap"}
env = StreamExecutionEnvironment("sales", config=config)
orders = env.from_source(Json("/in/orders", schema="id INT, n INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").process(Visits, "id INT, n INT").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/functions_with_states_in_memory.py: pipeline 'sales' has 1 problem
#   Keyed Process: option 'state.backend.type' is hashmap, and Spark keeps states of functions in RocksDB
#     allowed: rocksdb, or no option
#     declared at pipelines/functions_with_states_in_memory.py:14
