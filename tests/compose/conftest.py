"""One deployment for all tests of this folder."""

import time
from collections.abc import Iterator

import pytest

from tests.compose.deployment import HAS_STAND_INS, Deployment, deployed


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Yield the containers, started as the README says, with the seconds it took in the output."""
    with deployed(tmp_path_factory.mktemp("compose")) as found:
        begin = time.monotonic()
        said = found.script("up")
        images = "stand-in images" if HAS_STAND_INS else "images of a registry"
        print(f"\nmake up, with {images}: {time.monotonic() - begin:.0f} s\n{said}")
        assert "import errors: 0" in said
        yield found
