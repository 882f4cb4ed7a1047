from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment


class Silent(KeyedProcessFunction):
    """It has no process_element."""


class Short(KeyedProcessFunction):
    def process_element(self, value):
        yield value


env = StreamExecutionEnvironment("sales")
orders = env.from_source(Json("/in/orders", schema="id INT, n INT"), "orders")
orders.key_by("id").process(dict, "id INT").sink_to(Parquet("/out/1"))
orders.key_by("id").process(Silent, "id INT").sink_to(Parquet("/out/2"))
orders.key_by("id").process(Short, "id INT").sink_to(Parquet("/out/3"))
# graph-compiler validate says:
# pipelines/a_class_of_no_process.py: pipeline 'sales' has 3 problems
#   after 'orders': process was given the class dict
#     allowed: a class that extends KeyedProcessFunction
#     declared at pipelines/a_class_of_no_process.py:15
#   after 'orders': the class Silent has no process_element
#     allowed: process_element(self, value, ctx)
#     declared at pipelines/a_class_of_no_process.py:16
#   after 'orders': the class Short has process_element(self, value)
#     allowed: process_element(self, value, ctx)
#     declared at pipelines/a_class_of_no_process.py:17
