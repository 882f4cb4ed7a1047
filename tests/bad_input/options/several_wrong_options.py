from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales",
    config={"parallelism.default": "many", "pipeline.max-paralelism": 3, "staging.release": "never"},
)
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/several_wrong_options.py: pipeline 'sales' has 3 problems
#   option 'parallelism.default' is 'many'
#     allowed: a whole number, from 1 to 32768
#     declared at pipelines/several_wrong_options.py:3
#   option 'staging.release' is 'never'
#     allowed: GC, LAST_CONSUMER
#     declared at pipelines/several_wrong_options.py:3
#   there is no option 'pipeline.max-paralelism'
#     allowed: pipeline.max-parallelism, pipeline.jars, pipeline.auto-generate-uids, pipeline.cached-files, pipeline.classpaths and others; graph-compiler options lists all
#     hint: did you mean 'pipeline.max-parallelism'?
#     declared at pipelines/several_wrong_options.py:3
