from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
lines = env.from_source(Csv("/in/lines.csv"), "lines")
orders.expect_same("empty", lines, "")
orders.expect_same("open", lines, "sum(amount")
orders.expect_same("two", lines, "sum(amount); sum(price)")
orders.expect_same("a template", lines, "sum({{ params.column }})")
orders.expect_same("undeclared", lines, "sum(amount) + :more")
orders.expect_same("a comment", lines, "sum(amount) /* all")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/equal_totals_of_odd_texts.py: pipeline 'sales' has 6 problems
#   empty: it has an empty expression
#     allowed: Spark SQL
#     declared at pipelines/equal_totals_of_odd_texts.py:6
#   a template: the expression 'sum({{ params.column }})' contains the template {{ params.column }}
#     allowed: templates in paths and connector options; parameters in expressions
#     hint: declare it in the pipeline's params and write :column, which is bound as a value
#     declared at pipelines/equal_totals_of_odd_texts.py:9
#   open: the expression 'sum(amount' has ( without )
#     allowed: one expression
#     declared at pipelines/equal_totals_of_odd_texts.py:7
#   two: the expression 'sum(amount); sum(price)' has several statements
#     allowed: one expression
#     declared at pipelines/equal_totals_of_odd_texts.py:8
#   a comment: the expression 'sum(amount) /* all' has /* without */
#     allowed: one expression
#     declared at pipelines/equal_totals_of_odd_texts.py:11
#   undeclared: parameter 'more' is not declared
#     allowed: run_date
#     hint: declare it in the pipeline's params
#     declared at pipelines/equal_totals_of_odd_texts.py:10
