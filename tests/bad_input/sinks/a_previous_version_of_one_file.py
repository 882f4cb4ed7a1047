from graph_compiler import Csv, StreamExecutionEnvironment, Values

env = StreamExecutionEnvironment("totals")
target = Csv("/out/totals.csv")
before = env.from_target(target, "before", schema="n INT")
new = env.from_source(Values([[1]], "n INT"), "new")
before.union(new).sink_to(target, single_file=True).name("totals")
# graph-compiler validate says:
# pipelines/a_previous_version_of_one_file.py: pipeline 'totals' has 1 problem
#   before: its sink 'totals' writes one file, and a previous version is read from a folder
#     allowed: a sink without single_file=True
#     hint: let the sink write a folder, from_target(…) read that, and a second sink write the file
#     declared at pipelines/a_previous_version_of_one_file.py:5
