"""Options that a deployment sets for all pipelines: how they are read, and that a pipeline's own options win."""

import json

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import ConfigurationError, InvalidPipelineError
from graph_compiler.explain.documents.plan_json import deployment_json
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text
from graph_compiler.options.effective_options import OptionOrigin, effective_options
from graph_compiler.options.modes import NO_DEPLOYMENT_OPTIONS, DeploymentOptions, ShuffleMode
from graph_compiler.options.reader import parse_deployment_options, read_options

MODE = "execution.batch-shuffle-mode"
PARALLELISM = "parallelism.default"


def deployment(**options: str) -> DeploymentOptions:
    keys = {"mode": MODE, "parallelism": PARALLELISM}
    return parse_deployment_options(json.dumps({keys[name]: value for name, value in options.items()}), "the file")


def pipeline(mode: str | None = None) -> Pipeline:
    env = StreamExecutionEnvironment("p", config={MODE: mode} if mode else {})
    env.from_source(Csv("/in"), "in").key_by("k").aggregate(n="count(*)").name("n").sink_to(Parquet("/out")).name("out")
    return env.pipeline()


def test_pipelines_override_the_deployment_and_it_overrides_defaults() -> None:
    sets = deployment(mode="ALL_EXCHANGES_BLOCKING", parallelism="4")
    options, problems = read_options(((MODE, "ALL_EXCHANGES_PIPELINED"),), sets)
    assert problems == ()
    assert (options.shuffle_mode, options.parallelism) == (ShuffleMode.ALL_EXCHANGES_PIPELINED, 4)
    assert options.chaining_enabled is True


def test_a_pipeline_is_compiled_with_its_deployments_options() -> None:
    as_built_in = compile_pipeline(pipeline())
    assert len(as_built_in.deployment.regions) == 1
    blocking = compile_pipeline(pipeline(), deployment(mode="ALL_EXCHANGES_BLOCKING"))
    assert len(blocking.deployment.regions) == 2
    own = compile_pipeline(pipeline(mode="ALL_EXCHANGES_PIPELINED"), deployment(mode="ALL_EXCHANGES_BLOCKING"))
    assert len(own.deployment.regions) == 1


def test_explain_shows_changed_options_and_their_origin() -> None:
    compiled = compile_pipeline(pipeline(mode="ALL_EXCHANGES_BLOCKING"), deployment(mode="AUTO", parallelism="4"))
    assert (
        "\noptions\n"
        "  execution.batch-shuffle-mode = ALL_EXCHANGES_BLOCKING (pipeline)\n"
        "  parallelism.default = 4 (deployment)\n\n"
    ) in explain_text(plan_of(compiled))
    assert deployment_json(plan_of(compiled))["options"] == [
        {"key": MODE, "value": "ALL_EXCHANGES_BLOCKING", "default": "AUTO", "origin": "pipeline"},
        {"key": PARALLELISM, "value": "4", "default": "1", "origin": "deployment"},
    ]
    assert "options" not in explain_text(plan_of(compile_pipeline(pipeline(), deployment(mode="AUTO"))))


def test_the_origin_of_every_option_is_known() -> None:
    sets = deployment(mode="AUTO", parallelism="4")
    options, _ = read_options(((MODE, "AUTO"),), sets)
    origins = {one.key: one.origin for one in effective_options(options, [(MODE, "AUTO")], sets)}
    assert origins[MODE] is OptionOrigin.PIPELINE
    assert origins[PARALLELISM] is OptionOrigin.DEPLOYMENT
    assert origins["staging.ttl"] is OptionOrigin.BUILT_IN


def test_all_problems_are_reported_with_where_they_are_set() -> None:
    text = json.dumps({PARALLELISM: 0, "staging.tll": "1 d", MODE: None, "state.backend": "rocksdb"})
    with pytest.raises(ConfigurationError) as found:
        parse_deployment_options(text, "AIRFLOW__GRAPH_COMPILER__OPTIONS")
    words = str(found.value)
    assert words.startswith("AIRFLOW__GRAPH_COMPILER__OPTIONS has 4 problems\n")
    assert f"option '{PARALLELISM}' is '0'" in words
    assert "did you mean 'staging.ttl'?" in words
    assert f"option '{MODE}' is null" in words
    assert "option 'state.backend' is a Flink option that is not supported here" in words


@pytest.mark.parametrize(
    ("text", "words"),
    [("{parallelism: 4}", "not valid JSON: Expecting property name"), ('["a"]', 'it is ["a"]'), ("", "not valid JSON")],
)
def test_values_that_are_not_a_json_object_are_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as found:
        parse_deployment_options(text, "here")
    assert words in str(found.value)
    assert 'allowed: an object: {"parallelism.default": 4}' in str(found.value)


def test_a_duplicate_key_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="option 'staging.ttl' is set twice"):
        parse_deployment_options('{"staging.ttl": "1 d", "staging.ttl": "2 d"}', "here")


def test_numbers_and_booleans_need_no_quotes() -> None:
    found = parse_deployment_options('{"staging.checksum": false, "parallelism.default": 4}', "x")
    assert found.values == ((PARALLELISM, "4"), ("staging.checksum", "false"))
    assert parse_deployment_options("{}", "").values == NO_DEPLOYMENT_OPTIONS.values


def test_contradicting_options_are_reported_with_both_origins() -> None:
    key = "restart-strategy.exponential-delay"
    sets = parse_deployment_options(json.dumps({f"{key}.max-backoff": "30 s"}), "the variable")
    env = StreamExecutionEnvironment("p", config={f"{key}.initial-backoff": "40 s"})
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    with pytest.raises(InvalidPipelineError) as found:
        compile_pipeline(env.pipeline(), sets)
    assert f"'{key}.max-backoff' comes from the deployment: the variable" in str(found.value)


def test_an_invalid_option_causes_no_further_problems() -> None:
    env = StreamExecutionEnvironment("p", config={"pipeline.auto-generate-uids": "false", PARALLELISM: "many"})
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    with pytest.raises(InvalidPipelineError) as found:
        compile_pipeline(env.pipeline())
    assert len(found.value.problems) == 1


@pytest.mark.parametrize("key", ["pipeline.cached-files", "pipeline.jars", "python.archives"])
def test_a_deployment_names_no_files(key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{key}' names files of one pipeline"):
        parse_deployment_options(json.dumps({key: "/a.jar"}), "the file")


def test_options_that_are_nested_too_deeply_are_no_error_of_python() -> None:
    with pytest.raises(ConfigurationError, match="nested too deeply\n *allowed: an object"):
        parse_deployment_options('{"a":' * 100_000, "here")
