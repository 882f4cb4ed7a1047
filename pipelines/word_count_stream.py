"""The word count of word_count.py over lines that arrive: each run counts those of new files (docs/streaming.md)."""

from graph_compiler import Parquet, StreamExecutionEnvironment, Text
from pipelines.word_count import PROJECT, count_words

env = StreamExecutionEnvironment("word_count_stream", config={"execution.runtime-mode": "STREAMING"})

lines = env.from_source(Text(f"{PROJECT}/data/lines"), "lines", unbounded=True).uid("lines")
counts = count_words(lines)
counts.sink_to(Parquet(f"{PROJECT}/output/word_count_stream"), mode="merge", keys="word").name("file-sink")
