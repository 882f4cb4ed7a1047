"""pyspark and pyspark-client contain the same files: the full one is installed, the other is not."""

from importlib.metadata import PackageNotFoundError, distribution, files
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark


def test_pyspark_owns_every_file_of_its_package() -> None:
    import pyspark

    folder = Path(pyspark.__file__).parent
    owned = {Path(str(file.locate())).resolve() for file in files("pyspark") or ()}
    found = {path.resolve() for path in folder.rglob("*.py")}
    assert found <= owned
    assert (folder / "bin" / "spark-submit").exists()
    assert list((folder / "jars").glob("spark-core_*.jar"))


def test_pyspark_client_is_not_installed() -> None:
    with pytest.raises(PackageNotFoundError):
        distribution("pyspark-client")
