"""Flink's word count: how often does each word occur? Its plan is Flink's (word_count.flink.json)."""

from pathlib import Path

from graph_compiler import Csv, DataStream, StreamExecutionEnvironment, Values

PROJECT = Path(__file__).parents[1]


def count_words(lines: DataStream) -> DataStream:
    """Return how often each word occurs in the column `value`, of lines that end or never do."""
    words = r"explode(filter(split(lower(value), '\\W+'), word -> word != ''))"
    tokens = lines.flat_map(words, "word").name("tokenizer")
    return tokens.key_by("word").aggregate(frequency="count(*)").name("counter")


env = StreamExecutionEnvironment("word_count", params={"output": f"{PROJECT}/output/word_count"})

text = env.from_source(
    Values(
        [
            ("To be, or not to be,--that is the question:--",),
            ("Whether 'tis nobler in the mind to suffer",),
            ("The slings and arrows of outrageous fortune",),
            ("Or to take arms against a sea of troubles,",),
        ],
        "value STRING",
    ),
    "in-memory-input",
)
counts = count_words(text)
counts.sink_to(Csv("{{ params.output }}"), files=1).name("file-sink")
