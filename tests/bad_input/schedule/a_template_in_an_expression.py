from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("day = '{{ ds }}'").name("today").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_template_in_an_expression.py: pipeline 'sales' has 1 problem
#   today: the expression 'day = '{{ ds }}'' contains the template {{ ds }}
#     allowed: templates in paths and connector options; parameters in expressions
#     hint: declare it in the pipeline's params and write :ds, which is bound as a value
#     declared at pipelines/a_template_in_an_expression.py:5
