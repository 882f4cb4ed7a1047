"""Files, jars and Python environments that a pipeline names: what is found, and everything that is refused."""

import hashlib
import os
from pathlib import Path

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.artifacts import user_artifact
from graph_compiler.declaration.artifacts.artifact_options import Artifacts, read_artifacts
from graph_compiler.declaration.artifacts.user_artifact import ArtifactError, ArtifactKind, UserArtifact, find_artifact
from graph_compiler.declaration.locations import declaring_at
from graph_compiler.errors import InvalidPipelineError, SourceLocation

RATES = hashlib.sha256(b"1.5").hexdigest()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a file, two jars and an archive."""
    (tmp_path / "pipelines").mkdir()
    for name, text in {"data/rates.csv": "1.5", "lib/one.jar": "1", "lib/two.jar": "2", "env.tar.gz": "e"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def environment(project: Path, **config: str) -> StreamExecutionEnvironment:
    """Return an environment that is declared in a module of the project."""
    with declaring_at(SourceLocation(str(project / "pipelines" / "sales.py"), 3)):
        env = StreamExecutionEnvironment("sales", config=config)
    env.from_source(Csv("/in", schema="x INT"), "in").sink_to(Parquet("/out"))
    return env


def artifacts(env: StreamExecutionEnvironment) -> Artifacts:
    return env.pipeline().artifacts


def messages(env: StreamExecutionEnvironment) -> list[str]:
    return [problem.message for problem in artifacts(env).problems]


def test_the_methods_add_to_flinks_options(project: Path) -> None:
    env = environment(project, **{"pipeline.jars": "lib/two.jar"})
    env.add_files("data/rates.csv")
    env.add_jars("lib/one.jar", project / "lib" / "two.jar")
    env.add_python_archive("env.tar.gz", "environment")
    assert env.pipeline().config == (
        ("pipeline.cached-files", "name:rates.csv,path:data/rates.csv"),
        ("pipeline.jars", "lib/two.jar;lib/one.jar;lib/two.jar"),
        ("python.archives", "env.tar.gz#environment"),
    )
    found = artifacts(env).found
    assert [(each.kind, each.name) for each in found] == [
        (ArtifactKind.FILE, "rates.csv"),
        (ArtifactKind.JAR, "two.jar"),
        (ArtifactKind.JAR, "one.jar"),
        (ArtifactKind.ARCHIVE, "environment"),
    ]
    assert found[0] == UserArtifact(
        kind=ArtifactKind.FILE, name="rates.csv", path=str(project / "data" / "rates.csv"), version=RATES
    )
    assert found[3].file_name == "environment.tar.gz"
    assert not artifacts(env).problems


def test_flinks_forms_are_read(project: Path) -> None:
    rates = project / "data" / "rates.csv"
    config = {
        "pipeline.cached-files": f"name:euro.csv,path:{rates.as_uri()}; name:dollar.csv , path:data/rates.csv;",
        "pipeline.jars": (project / "lib" / "one.jar").as_uri(),
        "python.archives": "env.tar.gz",
    }
    found = read_artifacts(config, project, {}).found
    assert [each.name for each in found] == ["euro.csv", "dollar.csv", "one.jar", "env.tar.gz"]


def test_the_content_is_the_version_of_a_file(project: Path) -> None:
    """A change is seen even if size and time are the same: its inode or change time differ."""
    env = environment(project)
    env.add_files("data/rates.csv")
    rates = project / "data" / "rates.csv"
    before, status = artifacts(env).found[0], rates.stat()
    rates.unlink()
    rates.write_text("1.6")
    os.utime(rates, ns=(status.st_atime_ns, status.st_mtime_ns))
    after = artifacts(env).found[0]
    assert before.version == RATES != after.version
    assert after.content() == b"1.6"
    with pytest.raises(ArtifactError, match="was changed after the pipeline was loaded"):
        before.content()


def test_an_archive_is_not_read_when_a_pipeline_is_loaded(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = environment(project)
    env.add_python_archive("env.tar.gz")
    monkeypatch.setattr(user_artifact, "_pieces", None)
    (archive,) = artifacts(env).found
    monkeypatch.undo()
    assert archive.content() == b"e"
    (project / "env.tar.gz").write_text("longer")
    with pytest.raises(ArtifactError, match="was changed"):
        archive.content()


def test_archives_of_one_size_and_time_have_copies_of_their_own(project: Path) -> None:
    """Tools that pack the same content to the same bytes give all archives one time."""
    env = environment(project)
    for number in "12":
        (project / number).mkdir()
        (project / number / "env.zip").write_text(number)
        os.utime(project / number / "env.zip", ns=(0, 0))
        env.add_python_archive(f"{number}/env.zip", f"environment{number}")
    one, two = artifacts(env).found
    assert one.version == two.version
    assert one.file_name != two.file_name


def test_a_module_that_names_files_can_be_imported_where_they_are_not(tmp_path: Path) -> None:
    env = environment(tmp_path / "code.zip")
    env.add_files("data/rates.csv")
    env.add_jars("lib/one.jar")


def test_every_problem_is_reported_with_its_line(project: Path) -> None:
    env = environment(project)
    with declaring_at(SourceLocation("sales.py", 7)):
        env.add_files("data/absent.csv", "data")
    with declaring_at(SourceLocation("sales.py", 8)):
        env.add_jars("s3a://bucket/x.jar", "lib/one.jar")
    with pytest.raises(InvalidPipelineError) as refused:
        compile_pipeline(env.pipeline())
    shown = str(refused.value)
    assert f"pipeline.cached-files: there is no file {project}/data/absent.csv" in shown
    assert f"pipeline.cached-files: {project}/data is a folder" in shown
    assert "'s3a://bucket/x.jar' is not a file of this host: it has scheme 's3a:'" in shown
    assert [problem.declared_at for problem in refused.value.problems] == [
        SourceLocation("sales.py", line) for line in (7, 7, 8)
    ]


@pytest.mark.parametrize(
    "name", ["a b.csv", "a%20b.csv", "a#b.csv", "a\nb.csv", "ä.csv", ".hidden", "a'b.csv", "-x.csv", "*.csv"]
)
def test_names_that_spark_takes_apart_are_refused(project: Path, name: str) -> None:
    (project / name).write_text("")
    env = environment(project)
    env.add_files(name)
    (message,) = messages(env)
    assert message == f"{name!r} cannot be the name of a file that travels"


def test_a_folder_may_have_any_name(project: Path) -> None:
    folder = project / "a b#c%20d\ne"
    folder.mkdir()
    (folder / "rates.csv").write_text("1.5")
    env = environment(project)
    env.add_files(folder / "rates.csv")
    assert [each.version for each in artifacts(env).found] == [RATES]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("add_files", "a,b/rates.csv"),
        ("add_files", "a;b.csv"),
        ("add_jars", "a;b.jar"),
        ("add_python_archive", "a,b.zip"),
        ("add_python_archive", "a#b.zip"),
        ("add_files", ""),
        ("add_files", 3),
        ("add_jars", None),
    ],
)
def test_what_an_option_cannot_hold_is_refused_at_its_line(project: Path, method: str, path: object) -> None:
    env = environment(project)
    with pytest.raises(InvalidPipelineError) as refused:
        getattr(env, method)(path)
    assert refused.value.problems[0].declared_at is not None
    assert env.pipeline().config == ()


def test_two_files_of_one_name_are_refused(project: Path) -> None:
    (project / "RATES.csv").write_text("other")
    env = environment(project)
    env.add_files("data/rates.csv", "RATES.csv", "data/rates.csv")
    env.add_jars("lib/one.jar")
    env.add_python_archive("env.tar.gz", "one.jar")
    assert [problem.key for problem in artifacts(env).problems] == ["pipeline.cached-files", "python.archives"]
    assert messages(env)[0].endswith(f"{project}/RATES.csv have the same name 'RATES.csv'")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"pipeline.cached-files": "data/rates.csv"}, "there is 'data/rates.csv'"),
        ({"pipeline.cached-files": "name:x,path:data/rates.csv,executable:true"}, "there is"),
        ({"pipeline.cached-files": "name:../x,path:data/rates.csv"}, "'../x' cannot be the name"),
        ({"pipeline.cached-files": "name:json.py,path:data/rates.csv"}, "is a Python module"),
        ({"pipeline.cached-files": "name:stdout,path:data/rates.csv"}, "of their own"),
        ({"python.archives": "env.tar.gz#__spark_conf__"}, "of their own"),
        ({"pipeline.cached-files": "name:pyspark.zip,path:data/rates.csv"}, "of their own"),
        ({"python.archives": "env.tar.gz#json"}, "would hide Python's module"),
        ({"python.archives": "env.tar.gz#graph_compiler"}, "would hide Python's module"),
        ({"python.archives": "env.tar.gz#.."}, "'..' cannot be the name"),
        ({"python.archives": "env.tar.gz#a/b"}, "'a/b' cannot be the name"),
        ({"python.archives": "data/rates.csv"}, "is not an archive that Spark unpacks"),
        ({"pipeline.jars": "hdfs:/x.jar"}, "is not a file of this host"),
        ({"pipeline.jars": "/dev/zero"}, "is neither a file nor a link to one"),
        ({"pipeline.jars": "a\0b.jar"}, "cannot be read"),
        ({"pipeline.jars": "pipe.jar"}, "is neither a file nor a link to one"),
        ({"pipeline.jars": "loop.jar"}, "cannot be read"),
        ({"pipeline.jars": "large.jar"}, "has more than 64,000,000 bytes"),
    ],
)
def test_odd_entries_are_refused(project: Path, config: dict[str, str], words: str) -> None:
    os.mkfifo(project / "pipe.jar")
    (project / "loop.jar").symlink_to(project / "loop.jar")
    with (project / "large.jar").open("wb") as large:
        large.truncate(64_000_001)
    found = read_artifacts(config, project, {})
    assert not found.found
    assert words in found.problems[0].message


def test_a_link_to_a_file_is_followed(project: Path) -> None:
    (project / "today.csv").symlink_to(project / "data" / "rates.csv")
    found = find_artifact(ArtifactKind.FILE, project / "today.csv", "today.csv")
    assert found.version == RATES
