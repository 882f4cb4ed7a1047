"""The committed JSON Schema is that of the models, and accepts what the reader accepts."""

import json
from pathlib import Path

import jsonschema
from typer.testing import CliRunner

from graph_compiler.cli.app import app
from graph_compiler.options.model import PipelineOptions
from graph_compiler.projects.yaml.tree import plain_tree, read_tree
from graph_compiler.projects.yaml.vocabulary import STEP_FORMS
from tests.yaml.test_yaml_operator_table import CASES, HEAD

ROOT = Path(__file__).parents[2]
FILE = ROOT / "schemas" / "pipeline.schema.json"


def test_the_schema_is_up_to_date() -> None:
    printed = CliRunner().invoke(app, ["schema"])
    assert printed.output == FILE.read_text(), "graph-compiler schema > schemas/pipeline.schema.json"


def test_the_schema_has_every_step_and_option() -> None:
    schema = json.loads(FILE.read_text())
    assert {f"{key}_step" for key in STEP_FORMS} <= set(schema["$defs"])
    aliases = {field.alias for field in PipelineOptions.model_fields.values()}
    assert aliases == set(schema["properties"]["config"]["properties"])


def test_the_schema_accepts_what_the_reader_accepts() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(FILE.read_text()))
    texts = [f"{HEAD}steps: {case.steps}" for case in CASES]
    texts += [path.read_text() for path in (ROOT / "pipelines").glob("*.yaml")]
    for text in texts:
        validator.validate(plain_tree(read_tree(text, "p.yaml")))
    for wrong in ("{from: s, fliter: x}", "{from: s, filter: x, limit: 3}", "{from: s, limit: x}"):
        assert not validator.is_valid(plain_tree(read_tree(f"{HEAD}steps: [{wrong}]", "p.yaml")))


def test_the_examples_refer_to_the_schema() -> None:
    for path in (ROOT / "pipelines").glob("*.yaml"):
        first = path.read_text().splitlines()[0]
        assert first == "# yaml-language-server: $schema=../schemas/pipeline.schema.json"
