"""Flink's word count: how often does each word occur? Its plan is Flink's (word_count.flink.json)."""

from pathlib import Path

from graph_compiler import Csv, StreamExecutionEnvironment, Values

PROJECT = Path(__file__).parents[1]

env = StreamExecutionEnvironment("word_count", params={"output": f"{PROJECT}/output/word_count"})

text = env.from_source(
    Values(
        [
            ("To be, or not to be,--that is the question:--",),
            ("Whether 'tis nobler in the mind to suffer",),
            ("The slings and arrows of outrageous fortune",),
            ("Or to take arms against a sea of troubles,",),
        ],
        "line STRING",
    ),
    "in-memory-input",
)
words = text.flat_map(r"explode(filter(split(lower(line), '\\W+'), word -> word != ''))", "word").name("tokenizer")
counts = words.key_by("word").aggregate(frequency="count(*)").name("counter")
counts.sink_to(Csv("{{ params.output }}"), files=1).name("file-sink")
