import pytest

from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.deployment.describe.run_parameters import parse_parameter
from graph_compiler.errors import ParameterError

DEFAULTS: dict[str, ParameterValue] = {"late_after": 15, "share": 0.5, "strict": False, "input": "/in"}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("late_after", "20", 20),
        ("late_after", "20.0", 20),  # an integer of JSON Schema
        ("late_after", "-1e3", -1000),
        ("late_after", "9007199254740993.0", 9007199254740993),
        ("share", "1", 1.0),
        ("strict", "true", True),
        ("strict", "False", False),
        ("input", "20", "20"),
    ],
)
def test_the_default_determines_the_type(name: str, text: str, value: ParameterValue) -> None:
    parsed = parse_parameter(name, text, DEFAULTS)
    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("late_after", "soon", "parameter 'late_after' is 'soon'\n  allowed: int"),
        ("late_after", "20.5", "parameter 'late_after' is '20.5'\n  allowed: int"),
        ("late_after", "1e999999999", "parameter 'late_after' is '1e999999999'\n  allowed: int"),
        ("late_after", "Infinity", "parameter 'late_after' is 'Infinity'\n  allowed: int"),
        ("late_after", "NaN", "parameter 'late_after' is 'NaN'\n  allowed: int"),
        ("strict", "yes", "parameter 'strict' is 'yes'\n  allowed: true or false"),
        ("late_aftr", "9", "there is no parameter 'late_aftr'"),
        ("late_aftr", "9", "did you mean 'late_after'?"),
    ],
)
def test_values_of_another_type_are_refused(name: str, text: str, words: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        parse_parameter(name, text, DEFAULTS)
    assert words in str(refusal.value)
