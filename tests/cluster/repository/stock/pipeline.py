"""Every way in which Spark calls a user's function; sales have a year, a key and a quantity."""

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from stock import functions

env = StreamExecutionEnvironment("stock", params={"input": "/data/sales.csv", "output": "/data"})
sales = env.from_source(Csv("{{ params.input }}", schema="key INT, quantity DOUBLE"), "sales")
whole = sales.filter("quantity >= 0", rejects="negative").name("whole")
priced = whole.transform(functions.priced).name("priced").stage("its functions are expensive")
taxed = priced.map_partitions(
    functions.in_pandas, "key INT, quantity DOUBLE, price DOUBLE, taxed DOUBLE"
).name("taxed")
checked = taxed.expect("dear", "taxed > 100", to="cheap").name("checked")
passed = checked.map_partitions(
    functions.in_arrow, "key INT, quantity DOUBLE, price DOUBLE, taxed DOUBLE", batches="arrow"
).name("passed")
routed = (
    passed.partition_custom(functions.route, "key").transform(functions.same).set_parallelism(2)
)
odd = routed.name("routed").process(functions.split, outputs=("even",)).name("split")
halved = (
    odd.select("key", amount="taxed")
    .iterate(functions.halved, max_iterations=8, until="max(amount) < 100")
    .name("halved")
)
for name, stream in {
    "negative": whole.get_side_output("negative"),
    "cheap": checked.get_side_output("cheap"),
    "even": odd.get_side_output("even"),
    "halved": halved,
}.items():
    stream.sink_to(Parquet(f"{{{{ params.output }}}}/{name}")).name(f"{name}_rows")
