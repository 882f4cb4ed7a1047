"""A file, a jar and a Python environment that a pipeline names are in YARN's containers, in both deploy modes."""

from dataclasses import replace

import pytest

from tests.cluster.conftest import run
from tests.harness.named_files import make_named_files
from tests.harness.reference import rows
from tests.yarn.conftest import YarnHome

pytestmark = pytest.mark.yarn


@pytest.mark.parametrize("deploy_mode", ["client", "cluster"])
def test_a_file_a_jar_and_an_environment_are_in_the_containers(deploy_mode: str, yarn_home: YarnHome) -> None:
    home = replace(yarn_home, deploy_mode=deploy_mode)
    make_named_files(home.repository / "named", home.yarn.folder / "environment")
    numbers = home.yarn.shared / "numbers.csv"
    numbers.write_text("x\n" + "".join(f"{n}\n" for n in range(8)))
    run(home, "named", {"input": str(numbers), "output": str(home.output)})

    found = rows(home.output / "read")
    assert [row[:5] for row in found] == [(n, 2 * n, 1.5, 1.5, "packed") for n in range(8)]
    containers = str(home.yarn.folder / "run")
    assert all(str(row[5]).startswith(containers) for row in found)
