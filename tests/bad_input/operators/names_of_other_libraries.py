from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.nlargest(10, "amount").to_csv("/out/most")
orders["twice"] = orders["amount"] * 2
large = orders[orders["amount"] > 10].sort_values("amount")
for column in orders.columns:
    print(column)
orders.window(None)
orders.connect(orders).filter("amount > 0")
orders.print()
orders.amount.sink_to(Parquet("/out/amounts"))
# graph-compiler validate says:
# pipelines/names_of_other_libraries.py: pipeline 'names_of_other_libraries' has 12 problems
#   after 'orders': a stream has no 'nlargest': that is pandas'
#     hint: `top_n(10, "amount DESC")`
#     declared at pipelines/names_of_other_libraries.py:5
#   a stream has no 'to_csv': that is pandas'
#     hint: `sink_to(Csv(path), single_file=True)`
#     declared at pipelines/names_of_other_libraries.py:5
#   after 'orders': a stream has no columns to index: found ['amount']
#     hint: columns are named in expressions: `select("id", "country")`, `filter("amount > 10")`, `with_columns(twice="amount * 2")`
#     declared at pipelines/names_of_other_libraries.py:6
#   after 'orders': a stream never changes: found ['twice'] = …
#     hint: columns are named in expressions: `select("id", "country")`, `filter("amount > 10")`, `with_columns(twice="amount * 2")`
#     declared at pipelines/names_of_other_libraries.py:6
#   after 'orders': a stream has no columns to index: found ['amount']
#     hint: columns are named in expressions: `select("id", "country")`, `filter("amount > 10")`, `with_columns(twice="amount * 2")`
#     declared at pipelines/names_of_other_libraries.py:7
#   after 'orders': a stream has no columns to index: found […]
#     hint: columns are named in expressions: `select("id", "country")`, `filter("amount > 10")`, `with_columns(twice="amount * 2")`
#     declared at pipelines/names_of_other_libraries.py:7
#   a stream has no 'sort_values': that is pandas'
#     hint: `sort("amount DESC", "id")`
#     declared at pipelines/names_of_other_libraries.py:7
#   after 'orders': a stream has no 'columns': that is PySpark's
#     hint: `graph-compiler dry-run NAME` shows columns and types; a module only declares
#     declared at pipelines/names_of_other_libraries.py:8
#   after 'orders': a stream has no 'window'
#     hint: call it after `key_by("country")`
#     declared at pipelines/names_of_other_libraries.py:10
#   after 'orders': the result of connect has no 'filter'
#     hint: call `transform(function)` first: it returns a stream
#     declared at pipelines/names_of_other_libraries.py:11
#   after 'orders': a stream has no 'print': that is PyFlink's
#     hint: `graph-compiler run NAME --until OPERATOR` shows rows; a module only declares
#     declared at pipelines/names_of_other_libraries.py:12
#   after 'orders': it cannot be loaded: `orders.amount.sink_to(Parquet("/out/amounts"))` raised AttributeError: 'DataStream' object has no attribute 'amount'
#     hint: if amount is a column, name it in an expression: filter("amount IS NOT NULL")
#     declared at pipelines/names_of_other_libraries.py:13
