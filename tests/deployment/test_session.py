"""The settings of all sessions, and the page that lists them."""

import re
from pathlib import Path

from graph_compiler.deployment.documents.jvm_settings import SESSION

PAGE = Path(__file__).parents[2] / "docs" / "session.md"


def test_the_page_has_every_setting_with_its_value() -> None:
    rows = re.findall(r"^\| (`(?:spark|parquet)\..+?`) \| `(.+?)` \|", PAGE.read_text(), re.M)
    assert {name: value for names, value in rows for name in re.findall("`(.+?)`", names)} == dict(SESSION)


def test_conversions_from_pandas_fail_instead_of_changing_a_number() -> None:
    """Whatever a cluster's defaults are: the tests of frames run with these settings."""
    of_pandas = {key: value for key, value in SESSION.items() if ".pandas." in key}
    assert of_pandas == {
        "spark.sql.execution.pandas.convertToArrowArraySafely": "true",
        "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype": "false",
    }
