from graph_compiler import Csv, Files, StreamExecutionEnvironment, Text

LATIN = {"encoding": "ISO-8859-1"}
PROLOG = {"declaration": 'version="1.0" encoding="ISO-8859-1"'}
env = StreamExecutionEnvironment("letters")
lines = env.from_source(Text("/in/lines", options=LATIN), "lines")
lines.sink_to(Csv("/out/csv", options=LATIN))
lines.sink_to(Text("/out/text", options={"Encoding": "UTF-16LE", "lineSep": "\n"}))
lines.sink_to(Text("/out/utf8", options={"encoding": "utf-8"}))
for name, options in (
    ("alone", LATIN),
    ("wide", {"charset": "utf-16le"}),
    ("unlike", PROLOG),
    ("both", {**LATIN, **PROLOG}),
    ("ascii", {"encoding": "US-ASCII"}),
):
    lines.sink_to(Files(format="xml", path=f"/out/{name}", options={"rowTag": "line", **options}))
# graph-compiler validate says:
# pipelines/encodings_that_files_do_not_say.py: pipeline 'letters' has 5 problems
#   lines: option 'encoding' is 'ISO-8859-1': Spark would apply it to the ends of lines only
#     allowed: lines in UTF-8
#     hint: convert the files: `iconv -f ENCODING -t UTF-8`; Csv and Json have other encodings
#     declared at pipelines/encodings_that_files_do_not_say.py:6
#   Sink: option 'Encoding' is 'UTF-16LE': Spark would apply it to the ends of lines only
#     allowed: lines in UTF-8
#     hint: convert the files: `iconv -f ENCODING -t UTF-8`; Csv and Json have other encodings
#     declared at pipelines/encodings_that_files_do_not_say.py:8
#   Sink: its XML files would be in ISO-8859-1, and readers take the encoding from their first lines, which say UTF-8. Leave out its option encoding, or add the option declaration='version="1.0" encoding="ISO-8859-1"'
#     allowed: Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink
#     declared at pipelines/encodings_that_files_do_not_say.py:17
#   Sink: its XML files would be in UTF-16LE, and readers take the encoding from their first lines, which say UTF-8. Leave out its option encoding, or add the option declaration='version="1.0" encoding="UTF-16LE"'
#     allowed: Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink
#     declared at pipelines/encodings_that_files_do_not_say.py:17
#   Sink: its XML files would be in UTF-8, and readers take the encoding from their first lines, which say ISO-8859-1. Leave out its option encoding, or add the option declaration='version="1.0" encoding="UTF-8"'
#     allowed: Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink
#     declared at pipelines/encodings_that_files_do_not_say.py:17
