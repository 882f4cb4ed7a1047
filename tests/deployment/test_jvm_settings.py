"""Options of a JVM that contradict the pinned zone, locale and charset, and how the pins are added."""

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler import Csv, InvalidPipelineError, Parquet, SlotSharingGroup
from graph_compiler import StreamExecutionEnvironment as Environment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.jvm_settings import OPTIONS, contradicting_words, contradictions, with_pins
from graph_compiler.driver_jvm.pinned_process import pinned_process

SETTINGS = [f"spark.{process}.{kind}JavaOptions" for process in ("driver", "executor") for kind in ("default", "extra")]


@pytest.mark.parametrize(
    "word",
    [
        "-Duser.timezone=Europe/Vienna",
        "-Duser.timezone=utc+2",
        "-Duser.timezone=",
        "-Duser.timezone",
        "-Duser.language=tr",
        "-Duser.language.format=tr",
        "-Duser.country=TR",
        "-Duser.country.display=TR",
        "-Duser.region=TR",
        "-Duser.script=Latn",
        "-Duser.variant=x",
        "-Duser.extensions=u-ca-buddhist",
        "-Dfile.encoding=ISO-8859-9",
    ],
)
def test_an_option_that_contradicts_is_found_wherever_it_stands(word: str) -> None:
    name, _, value = word.partition("=")
    joined = f"={value}" if "=" in word else ""
    for written in (
        word,
        f"-Xss4m {word} -Da=b",
        f"\t{word}\n",
        f'"{word}"',
        f"'{word}'",
        f'-D"{name[2:]}"{joined}',
        word.replace(".", "\\."),
        f"{OPTIONS} {word}",
    ):
        ((found, allowed),) = contradicting_words(written)
        assert found == word, written
        assert allowed.startswith(f"{name}=")


@pytest.mark.parametrize(
    "options",
    [
        "",
        OPTIONS,
        "-Duser.timezone=Etc/UTC -Duser.timezone=GMT",
        "-Dfile.encoding=utf8 -Dfile.encoding=UTF-8",
        "-Duser.language=en -Duser.country=us",
        "-Dmy.user.timezone=CET -Duser.timezones=CET -Duser.dir=/x -Duser.home=/y",
        '-Da="b -Duser.timezone=CET"',
        "-Da='-Duser.timezone=CET'",
        "-Da=b\\ -Duser.timezone=CET",
        "-XX:+UseG1GC -Dnot.closed='",
    ],
)
def test_options_that_do_not_contradict_are_kept(options: str) -> None:
    assert list(contradicting_words(options)) == []
    assert with_pins(options).endswith(OPTIONS)
    assert with_pins(options).startswith(options.removesuffix(OPTIONS).rstrip())


@given(st.lists(st.sampled_from(["-Da=b", "-Duser.timezone=CET", "-Xss4m", OPTIONS]), max_size=5))
def test_pins_come_last_and_once_at_the_end(words: list[str]) -> None:
    pinned = with_pins(" ".join(words))
    assert with_pins(pinned) == pinned
    assert pinned.endswith(OPTIONS)
    assert [word for word in words if word != OPTIONS] == [
        word for word in pinned.split() if word not in OPTIONS.split()
    ]


@pytest.mark.parametrize("key", SETTINGS)
def test_each_setting_of_java_options_is_looked_at(key: str) -> None:
    assert list(contradictions(key, "-Duser.timezone=CET"))
    assert not list(contradictions(f"{key}.x", "-Duser.timezone=CET"))


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("spark.executorEnv.TZ", "Europe/Vienna", False),
        ("spark.yarn.appMasterEnv.TZ", "Europe/Vienna", False),
        ("spark.kubernetes.driverEnv.TZ", "Europe/Vienna", False),
        ("spark.executorEnv._JAVA_OPTIONS", "-Duser.timezone=CET", False),
        ("spark.yarn.appMasterEnv.JAVA_TOOL_OPTIONS", "-Duser.language=tr", False),
        ("spark.executorEnv.TZ", "UTC", True),
        ("spark.executorEnv.TZX", "Europe/Vienna", True),
        ("spark.executorEnv._JAVA_OPTIONS", "-Xss4m", True),
    ],
)
def test_variables_of_processes_are_looked_at(key: str, value: str, allowed: bool) -> None:
    assert (not list(contradictions(key, value))) is allowed


def test_a_group_that_contradicts_is_refused_with_its_word_and_what_to_do(env: Environment) -> None:
    group = SlotSharingGroup(
        "odd",
        conf={
            "spark.driver.extraJavaOptions": "-Xss4m -Duser.timezone=Europe/Vienna",
            "spark.executor.extraJavaOptions": "-Duser.language=tr -XX:+UseG1GC",
            "spark.executor.defaultJavaOptions": "-Xss4m",
        },
    )
    env.from_source(Csv("/in"), "in").slot_sharing_group(group).sink_to(Parquet("/out"))
    with pytest.raises(InvalidPipelineError) as refusal:
        describe_regions(compile_pipeline(env.pipeline()))
    first, second = refusal.value.problems
    assert first.message == (
        "slot sharing group 'odd' sets spark.driver.extraJavaOptions, which has '-Duser.timezone=Europe/Vienna'"
    )
    assert first.allowed is not None
    assert first.allowed.startswith("'-Duser.timezone=UTC': it changes results")
    assert "remove '-Duser.timezone=Europe/Vienna'" in str(first.hint)
    assert "which has '-Duser.language=tr'" in second.message


def test_a_process_is_pinned_and_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Xss4m")
    time.tzset()
    try:
        with pinned_process():
            assert (time.timezone, os.environ["TZ"]) == (0, "UTC")
            assert os.environ["SPARK_SUBMIT_OPTS"] == f"-Xss4m {OPTIONS}"
        assert (time.timezone, os.environ["SPARK_SUBMIT_OPTS"]) == (-20_700, "-Xss4m")
    finally:
        monkeypatch.undo()
        time.tzset()
