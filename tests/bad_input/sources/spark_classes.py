from graph_compiler import Files, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
options = {"mode": "DROPMALFORMED"}
lines = Files(format="com.databricks.spark.csv", path="/in/a", options=options)
env.from_source(lines, "lines").sink_to(Parquet("/out/a"))
objects = Files(format="org.apache.spark.sql.execution.datasources.json.JsonFileFormat", path="/b")
env.from_source(objects, "objects").sink_to(Parquet("/out/b"))
# graph-compiler validate says:
# pipelines/spark_classes.py: pipeline 'sales' has 2 problems
#   lines: its format 'com.databricks.spark.csv' is Spark's own csv under the name of a class
#     allowed: format='csv'
#     declared at pipelines/spark_classes.py:6
#   objects: its format 'org.apache.spark.sql.execution.datasources.json.JsonFileFormat' is Spark's own json under the name of a class
#     allowed: format='json'
#     declared at pipelines/spark_classes.py:8
