"""The wheel and the source distribution can be built, and have what users need, and nothing else."""

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest

pytestmark = pytest.mark.installed
ROOT = Path(__file__).parents[2]
BESIDE_MODULES = {".html", ".txt", ".css", ".js", ".svg", ".md", ".json", ".typed"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both from a copy of what is committed or new: other files of a working folder must not be in them."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            copy(ROOT / name, source / name)
    build(source, folder)
    return folder


def copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(file.read_bytes())


def build(source: Path, folder: Path, *options: str) -> None:
    made = subprocess.run(  # noqa: PLW1510  # its message is shown
        [sys.executable, "-m", "hatchling", "build", "--directory", str(folder), *options],
        cwd=source,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (file,) = built.glob("*.whl")
    return zipfile.ZipFile(file)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = [each for each in wheel.namelist() if each.endswith("/METADATA")]
    return message_from_string(wheel.read(name).decode())


def test_the_wheel_has_each_module_and_what_modules_read(wheel: zipfile.ZipFile) -> None:
    names = {name.removeprefix("graph_compiler/") for name in wheel.namelist() if name.startswith("graph_compiler/")}
    package = ROOT / "plugins" / "graph_compiler"
    modules = {str(file.relative_to(package)) for file in package.rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules
    assert {Path(name).suffix for name in names} - {".py"} <= BESIDE_MODULES
    assert "airflow_backend/web/static/index.html" in names
    schema = wheel.read("graph_compiler/pipeline.schema.json")
    assert schema == (ROOT / "schemas" / "pipeline.schema.json").read_bytes()


def test_the_image_of_the_containers_copies_what_the_package_is_built_from(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    every, *let_in = (ROOT / ".dockerignore").read_text().split()
    assert every == "*"
    source = tmp_path / "build"
    for line in (ROOT / "Dockerfile").read_text().splitlines():
        if line.startswith("COPY ") and not line.startswith("COPY --from") and line.split()[-1].startswith("/build/"):
            *copied, to = line.split()[1:]
            for name in copied:
                assert f"!{name}" in let_in, name
                _copy_as_docker(ROOT / name, tmp_path / to.removeprefix("/"), into_folder=to.endswith("/"))
    build(source, tmp_path, "--target", "wheel")
    (file,) = tmp_path.glob("*.whl")
    assert set(zipfile.ZipFile(file).namelist()) == set(wheel.namelist())


def _copy_as_docker(place: Path, to: Path, *, into_folder: bool) -> None:
    if place.is_file():
        copy(place, to / place.name if into_folder else to)
    for file in place.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            copy(file, to / file.relative_to(place))


def test_the_source_distribution_has_the_documentation_and_no_tests(built: Path) -> None:
    (file,) = built.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        tops = {name.split("/", 2)[1] for name in archive.getnames()}
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    wanted = {"plugins", "schemas", "docs", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "PKG-INFO"}
    assert tops - {".gitignore"} == wanted
    assert "docs/versions.md" in names


def test_an_index_can_show_the_description(metadata: Message) -> None:
    text = metadata.get_payload()
    assert isinstance(text, str)
    assert "](" not in text, "a relative link leads nowhere there"
    assert text == (ROOT / "docs" / "package.md").read_text()


def test_all_that_is_imported_is_required(metadata: Message) -> None:
    required = {line.split(">")[0] for line in metadata.get_all("Requires-Dist") or () if "extra ==" not in line}
    assert required >= {"httpx", "jinja2", "pydantic", "typer"}
