from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

config = {"pipeline.jars": "hdfs://nn/x.jar", "python.requirements": "requirements.txt", "pipeline.classpaths": "lib/x.jar"}
env = StreamExecutionEnvironment("files_that_cannot_travel", config=config)
env.add_files("data/absent.csv", "pipelines")
env.from_source(Csv("/in"), "orders").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/files_that_cannot_travel.py: pipeline 'files_that_cannot_travel' has 5 problems
#   option 'python.requirements' is a Flink option that is not supported here
#     hint: no packages are installed while tasks run: pack a virtual environment with venv-pack or conda-pack, and name it in python.archives and its Python in python.executable
#     declared at pipelines/files_that_cannot_travel.py:4
#   option 'pipeline.classpaths' has 'lib/x.jar'
#     allowed: absolute paths and file: URIs, without ':' in the path
#     hint: they must be on every host; a jar in pipeline.jars travels
#     declared at pipelines/files_that_cannot_travel.py:4
#   pipeline.cached-files: there is no file data/absent.csv
#     declared at pipelines/files_that_cannot_travel.py:5
#   pipeline.cached-files: pipelines is a folder
#     allowed: a file
#     hint: pack it, and add it with add_python_archive
#     declared at pipelines/files_that_cannot_travel.py:5
#   pipeline.jars: 'hdfs://nn/x.jar' is not a file of this host: it has scheme 'hdfs:'
#     allowed: a path, or a file: URI
#     hint: Spark's setting spark.jars takes other URIs; what they name is not part of fingerprints
#     declared at pipelines/files_that_cannot_travel.py:4
