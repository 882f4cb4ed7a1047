import pytest

from graph_compiler.options.durations import format_duration, parse_duration
from graph_compiler.options.flink_options import WITHOUT_MEANING, with_flink_settings
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import ShuffleMode
from graph_compiler.options.reader import FIELDS, read_options


def test_the_defaults_are_auto_and_batch() -> None:
    assert read_options(()) == (PipelineOptions(), ())
    assert PipelineOptions().shuffle_mode is ShuffleMode.AUTO


def test_flinks_keys_are_read() -> None:
    options, problems = read_options((("parallelism.default", "4"), ("pipeline.operator-chaining.enabled", "false")))
    assert problems == ()
    assert (options.parallelism, options.chaining_enabled) == (4, False)


def test_every_problem_is_found_and_a_close_key_suggested() -> None:
    _, problems = read_options((("parallelism.defualt", "4"), ("execution.batch-shuffle-mode", "SOMETIMES")))
    assert sorted(problem.message for problem in problems) == [
        "option 'execution.batch-shuffle-mode' is 'SOMETIMES'",
        "there is no option 'parallelism.defualt'",
    ]
    assert any(str(problem.allowed).startswith("AUTO, ALL_EXCHANGES_BLOCKING, ") for problem in problems)
    assert any(problem.hint == "did you mean 'parallelism.default'?" for problem in problems)


BACKOFF = "restart-strategy.exponential-delay"


def test_an_initial_backoff_over_the_maximum_is_refused() -> None:
    options, (problem,) = read_options(((f"{BACKOFF}.initial-backoff", "90 s"), (f"{BACKOFF}.max-backoff", "500 ms")))
    assert options == PipelineOptions()
    assert problem.message == (
        f"option '{BACKOFF}.initial-backoff' is 90 s, but '{BACKOFF}.max-backoff' is only 500 ms"
    )
    assert problem.allowed == (f"'{BACKOFF}.initial-backoff' of at most 500 ms, or a longer '{BACKOFF}.max-backoff'")


def test_an_initial_backoff_is_checked_against_the_default_maximum() -> None:
    _, (problem,) = read_options(((f"{BACKOFF}.initial-backoff", "2 min"),))
    assert problem.message.endswith("is 2 min, but 'restart-strategy.exponential-delay.max-backoff' is only 1 min")


def test_an_initial_backoff_may_equal_the_maximum() -> None:
    assert read_options(((f"{BACKOFF}.initial-backoff", "60 s"),))[1] == ()


@pytest.mark.parametrize("text", ["2 d", "36 h", "90 s", "1 min", "1500 ms"])
def test_a_duration_is_written_as_it_is_read(text: str) -> None:
    assert format_duration(parse_duration(text)) == text


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("taskmanager.numberOfTaskSlots", "SlotSharingGroup("),
        ("taskmanager.memory.process.size", "SlotSharingGroup("),
        ("taskmanager.host", "the cluster is Spark's"),
        ("state.backend", "the staging root"),
        ("state.checkpoints.dir", "the staging root"),
        ("execution.checkpointing.mode", "a batch job has no checkpoints"),
        ("python.files", "the code of functions travels by itself"),
        ("python.requirements", "pack a virtual environment"),
        ("python.fn-execution.bundle.size", "python.executable"),
        ("restart-strategy", "it is written restart-strategy.type"),
        ("jobmanager.execution.failover-strategy", "`region`, always"),
        ("execution.batch.adaptive.auto-parallelism.max-parallelism", "adaptive execution"),
        ("execution.job-listeners", "listeners are its plugins'"),
        ("execution.state-recovery.path", "it is written execution.savepoint.path"),
        ("web.checkpoints.history", "a batch job has no checkpoints"),
        ("web.exception-history-size", "jobmanager.execution.attempts-history-size"),
    ],
)
def test_an_unsupported_flink_key_is_refused_with_a_hint(key: str, hint: str) -> None:
    _, (problem,) = read_options(((key, "x"),))
    assert problem.message == f"option '{key}' is a Flink option that is not supported here"
    assert hint in str(problem.hint)


OF_FLINK_1_20 = (
    *("$internal.pipeline.job-id", "$internal.application.main", "user.artifacts.artifact-list"),
    *("user.artifacts.base-dir", "user.artifacts.raw-http-enabled", "user.artifacts.http-headers"),
    *("execution.state-recovery.path", "execution.state-recovery.claim-mode"),
    *("execution.state-recovery.ignore-unclaimed-state", "execution.state-recovery.from-local"),
    *("execution.savepoint-restore-mode", "execution.savepoint.restore-mode", "execution.attached"),
    *("execution.job-status-changed-listeners", "execution.job-listeners"),
    *("execution.program-config.enabled", "execution.program-config.wildcards"),
    *("execution.allow-client-job-configurations", "execution.shutdown-on-application-finish"),
    *("execution.submit-failed-job-on-application-error", "pipeline.operator-chaining"),
    *("sql-gateway.session.idle-timeout", "sql-client.verbose", "plugin.classloader.parent-first"),
    *("traces.reporters", "optimizer.delimited-format.max-line-samples", "parallelism"),
)


@pytest.mark.parametrize("key", OF_FLINK_1_20)
def test_a_key_of_flink_1_20_is_known_as_flinks(key: str) -> None:
    _, (problem,) = read_options(((key, "1"),))
    assert problem.message == f"option '{key}' is a Flink option that is not supported here"
    assert "did you mean" not in str(problem.hint)


@pytest.mark.parametrize("key", ["execution.checkpointing.intervall", "restart-strategy.typ"])
def test_a_misspelled_key_is_not_taken_for_another_of_flinks(key: str) -> None:
    _, (problem,) = read_options(((key, "x"),))
    assert problem.message == f"there is no option '{key}'"
    assert str(problem.hint).startswith("did you mean '")


@pytest.mark.parametrize("name", sorted(set(FIELDS.values())))
def test_the_name_of_a_field_is_no_key(name: str) -> None:
    _, (problem,) = read_options(((name, "1"),))
    assert f"'{name}'" in problem.message


def test_no_supported_option_is_listed_as_unsupported() -> None:
    assert not [key for key in FIELDS if key in WITHOUT_MEANING]


@pytest.mark.parametrize(
    ("settings", "options", "found"),
    [
        ({"a": "1"}, {}, {"a": "1"}),
        (
            {"spark.pyspark.python": "/other"},
            {"python.executable": "env/bin/python", "python.client.executable": "/p"},
            {"spark.pyspark.python": "env/bin/python", "spark.pyspark.driver.python": "/p"},
        ),
        (
            {"spark.driver.extraClassPath": "/c.jar"},
            {"pipeline.classpaths": "/a.jar; file:///b/*"},
            {"spark.driver.extraClassPath": "/a.jar:/b/*:/c.jar", "spark.executor.extraClassPath": "/a.jar:/b/*"},
        ),
    ],
)
def test_flinks_keys_stand_for_settings_of_spark(
    settings: dict[str, str], options: dict[str, str], found: dict[str, str]
) -> None:
    read, problems = read_options(tuple(options.items()))
    assert not problems
    assert with_flink_settings(settings, read) == found


@pytest.mark.parametrize("entry", ["lib/a.jar", "hdfs://nn/a.jar", "/a:b.jar"])
def test_a_class_path_has_the_same_places_on_every_host(entry: str) -> None:
    _, (problem,) = read_options((("pipeline.classpaths", f"/x.jar;{entry}"),))
    assert problem.message == f"option 'pipeline.classpaths' has {entry!r}"
