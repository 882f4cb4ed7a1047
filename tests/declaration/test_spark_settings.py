"""Keys of Spark among a pipeline's options."""

import json

import pytest

from graph_compiler import SlotSharingGroup
from graph_compiler.errors import ConfigurationError
from graph_compiler.options.effective_options import OptionOrigin, effective_options
from graph_compiler.options.model import PipelineOptions
from graph_compiler.options.modes import NO_DEPLOYMENT_OPTIONS
from graph_compiler.options.reader import parse_deployment_options, read_options
from graph_compiler.options.spark_settings import spark_settings

CONFIG = (("spark.sql.shuffle.partitions", "8"), ("spark.a", "pipeline"))


def test_sparks_keys_are_no_options_of_ours_and_are_not_checked() -> None:
    assert read_options(CONFIG) == (PipelineOptions(), ())


def test_a_pipelines_settings_override_the_deployments() -> None:
    deployment = parse_deployment_options(
        json.dumps({"spark.a": "deployment", "spark.b": 4, "parallelism.default": 2}), "the file"
    )
    assert spark_settings(CONFIG, deployment) == {
        "spark.a": "pipeline",
        "spark.b": "4",
        "spark.sql.shuffle.partitions": "8",
    }
    shown = effective_options(PipelineOptions(), CONFIG, deployment)[len(PipelineOptions.model_fields) :]
    assert [(one.key, one.value, one.origin, one.is_changed) for one in shown] == [
        ("spark.a", "pipeline", OptionOrigin.PIPELINE, True),
        ("spark.b", "4", OptionOrigin.DEPLOYMENT, True),
        ("spark.sql.shuffle.partitions", "8", OptionOrigin.PIPELINE, True),
    ]


@pytest.mark.parametrize(
    ("key", "instead"), [("spark.master", "airflow.conn-id"), ("spark.submit.deployMode", "execution.deploy-mode")]
)
def test_settings_that_say_where_are_refused_with_what_says_it(key: str, instead: str) -> None:
    _, (problem,) = read_options(((key, "x"),))
    assert problem.message == f"option '{key}' is 'x'"
    assert instead in str(problem.hint)
    with pytest.raises(ConfigurationError, match=instead):
        parse_deployment_options(json.dumps({key: "x"}), "the file")


SECRETS = {
    "spark.hadoop.fs.s3a.secret.key": True,
    "spark.hadoop.fs.s3a.access.key": True,
    "spark.ssl.keyStorePassword": True,
    "spark.authenticate.secret": True,
    "spark.authenticate": False,
    "spark.hadoop.fs.s3a.aws.credentials.provider": False,
    "spark.kubernetes.driver.secretKeyRef.DB_PASSWORD": False,
}


@pytest.mark.parametrize(("key", "is_refused"), SECRETS.items())
def test_secrets_are_refused_without_being_shown(key: str, is_refused: bool) -> None:
    found = read_options(((key, "canary"),))[1]
    assert bool(found) == is_refused
    assert "canary" not in repr(found)
    group = SlotSharingGroup("g", conf={key: "canary"})
    assert bool(tuple(group.problems())) == is_refused
    assert "canary" not in repr(tuple(group.problems()))


def test_the_prefix_alone_and_other_spellings_are_not_sparks() -> None:
    for key in ("spark.", "sparks.x", "Spark.x"):
        assert read_options(((key, "x"),))[1][0].message == f"there is no option '{key}'"
    assert spark_settings((("spark.", "x"),), NO_DEPLOYMENT_OPTIONS) == {}
