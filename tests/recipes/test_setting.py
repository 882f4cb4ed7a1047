"""The recipe of a setting in CONTRIBUTING.md, followed in a copy of the package: at most four files."""

import pytest

from tests.mutants import Edit, changed_files, changed_package, run_python

MOST_FILES = 4
RECIPE = (
    Edit(
        "RuntimeSettings.deterministic",
        "deterministic: bool = False",
        "deterministic: bool = False\n    most_rows: int | None = None",
    ),
    Edit(
        "HasSettings.disable_chaining",
        "def disable_chaining(self) -> Self:",
        "def set_most_rows(self, most_rows: int) -> Self:\n"
        '        """Keep no more rows than this."""\n'
        "        return self._set(most_rows=most_rows)\n\n"
        "    def disable_chaining(self) -> Self:",
    ),
    Edit(
        "RegionEvaluation.run",
        "exact[tag] = judge(made)",
        "made = made.limit(operator.settings.most_rows or 2**31 - 1)\n            exact[tag] = judge(made)",
    ),
)


@pytest.mark.parametrize("what", ["declaration", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.long])])
def test_a_setting_that_reaches_spark_touches_few_files(what: str) -> None:
    assert len(changed_files(RECIPE)) <= MOST_FILES
    with changed_package(RECIPE) as package:
        run = run_python(package, "tests.recipes.toy_setting", what)
    assert run.returncode == 0, run.stdout
