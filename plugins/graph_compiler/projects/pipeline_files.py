"""Find pipelines by the name or the path of their modules and YAML files, and load them.

load_pipeline("flights")   →   Pipeline, of pipelines/flights.py or pipelines/flights.yaml
"""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.pipeline import IncompletePipelineError, Pipeline
from graph_compiler.errors import InvalidPipelineError, Problem, SourceLocation
from graph_compiler.identifiers import PIPELINES, did_you_mean
from graph_compiler.projects.module_errors import importing
from graph_compiler.projects.project_folder import YAML, project_of

_SUFFIXES = (".py", YAML)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineFile:
    """A module or YAML file: its dotted name, and the folder that the name is relative to."""

    name: str
    file: Path
    root: Path

    @property
    def shown(self) -> str:
        """The shortest path of the file from the working directory, for messages."""
        here = Path.cwd()
        return str(self.file.relative_to(here) if self.file.is_relative_to(here) else self.file)


def load_pipeline(name: str | Path) -> Pipeline:
    """Return the pipeline that `flights`, `pipelines/flights.py` or `pipelines/flights.yaml` declares.

    Raises InvalidPipelineError if there is no such file, or both, or if its code fails.
    """
    module = find_pipeline(str(name))
    pipeline = load_declared(module)
    if pipeline is None:
        raise InvalidPipelineError(module.file.stem, [nothing_declared(module)])
    return pipeline


def nothing_declared(module: PipelineFile) -> Problem:
    """Return the problem of a module that declares no pipeline, with what it has instead."""
    named = vars(sys.modules[module.name]) if module.name in sys.modules else {}
    others = [key for key, value in named.items() if isinstance(value, StreamExecutionEnvironment)]
    found = f"; its 'env' is a {type(named['env']).__name__}" if "env" in named else ""
    hint = f'env = StreamExecutionEnvironment("{module.file.stem}")'
    if others:
        hint = f"'{others[0]}' is one: rename it to 'env'"
    return Problem(
        message=f"{module.shown} has no StreamExecutionEnvironment called 'env'{found}",
        hint=hint,
        declared_at=SourceLocation(module.shown, 1),
    )


def load_declared(module: PipelineFile) -> Pipeline | None:
    """Return what a YAML file or a module's `env` declares, None without an `env`; raises like `load_pipeline`.

    A module's output goes to standard error, since standard output belongs to the command.
    """
    if str(module.root) not in sys.path:
        sys.path.insert(0, str(module.root))
    if module.file.suffix == YAML:
        # Imported when needed: building the models of the whole API takes longer than compiling a pipeline.
        from graph_compiler.projects.yaml.reader import read_pipeline

        with redirect_stdout(sys.stderr):
            return read_pipeline(Path(module.shown))
    with redirect_stdout(sys.stderr), importing(module.file.stem, module.file) as refused:
        imported = import_module(module.name)
    if Path(str(imported.__file__)).resolve() != module.file:
        problem = Problem(
            message=f"{module.shown} cannot be imported: '{module.name}' is {imported.__file__}",
            hint="run this in the folder the file belongs to",
        )
        raise InvalidPipelineError(module.name, [problem])
    environment = getattr(imported, "env", None)
    pipeline = None
    if isinstance(environment, StreamExecutionEnvironment):
        pipeline = environment.pipeline()
        # Another module may have imported this one before; then its refusals are reported there.
        known = environment.refused
        known.extend(one for one in refused if one not in known and _is_in(one, module.file))
        refused = known
    if refused:
        name = module.file.stem if pipeline is None else pipeline.name
        raise IncompletePipelineError(name, refused, declared=pipeline)
    return pipeline


def _is_in(problem: Problem, file: Path) -> bool:
    """Whether a problem is in a file; a connector that is not used is refused without an environment."""
    return problem.declared_at is not None and Path(problem.declared_at.file).resolve() == file


def find_pipeline(text: str) -> PipelineFile:
    """Return the file of `flights`, `pipelines.flights`, `pipelines/flights.py` or `pipelines/flights.yaml`.

    Raises InvalidPipelineError if there is no such file, or a module and a YAML file with the same name.
    """
    if text.endswith((".py", YAML)) or os.sep in text:
        return pipeline_at(Path(text))
    name = text if text.startswith(f"{PIPELINES}.") else f"{PIPELINES}.{text}"
    path = name.replace(".", "/")
    declared = Path(path + YAML)
    file = _file_of(name)
    if declared.is_file() and file is not None:
        problem = Problem(message=f"there are {path}.py and {declared}", allowed="one of them")
        raise InvalidPipelineError(text, [problem])
    if declared.is_file():
        return pipeline_at(declared)
    if file is None and Path(f"{path}.py").is_file():
        package = find_spec(name.rpartition(".")[0])
        problem = Problem(
            message=f"{path}.py cannot be imported: '{PIPELINES}' is {package and package.origin}",
            hint="another project is on PYTHONPATH, before this folder",
        )
        raise InvalidPipelineError(text, [problem])
    if file is None:
        known = pipeline_names()
        problem = Problem(
            message=f"there is neither {path}.py nor {declared}",
            allowed=", ".join(known) or None,
            hint=did_you_mean(text, known) or f"run this in the folder that holds {PIPELINES}/",
        )
        raise InvalidPipelineError(text, [problem])
    return PipelineFile(name=name, file=file, root=file.parents[name.count(".")])


def pipeline_names() -> list[str]:
    """Return the names of the files in pipelines/ that may declare a pipeline."""
    files = (path for path in Path(PIPELINES).glob("[!_.]*") if path.suffix in _SUFFIXES)
    return sorted({path.stem for path in files})


def pipeline_at(path: Path) -> PipelineFile:
    """Return a file that may declare a pipeline; a module gets the name under which Spark's driver would import it.

    Raises InvalidPipelineError if there is no such file, or the name cannot be imported.
    """
    file = path.resolve()
    root = project_of(file)
    parts = file.relative_to(root).with_suffix("").parts
    if not file.is_file():
        raise InvalidPipelineError(path.stem, [Problem(message=f"there is no file {path}")])
    if file.suffix == YAML:
        return PipelineFile(name=".".join(parts), file=file, root=root)
    if file.suffix != ".py" or not all(part.isidentifier() for part in parts):
        problem = Problem(
            message=f"{path} cannot be imported by name",
            allowed=f"a {YAML} file, or a .py file whose path has letters, digits and '_' only",
        )
        raise InvalidPipelineError(path.stem, [problem])
    return PipelineFile(name=".".join(parts), file=file, root=root)


def files_below(folder: Path) -> list[str]:
    """Return the files below a folder that may declare pipelines: those with no `_` or `.` at the start of a name."""
    paths = (path for path in sorted(folder.rglob("*")) if path.suffix in _SUFFIXES)
    files = (path.relative_to(folder) for path in paths)
    return [
        str(folder / file)
        for file in files
        if not any(part.startswith(("_", ".")) for part in file.parts)
    ]


def _file_of(name: str) -> Path | None:
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        spec = find_spec(name)
    except Exception:  # its package is missing or broken: importing the module reports why
        file = Path(*name.split(".")).with_suffix(".py")
        return file.resolve() if file.is_file() else None
    return Path(spec.origin).resolve() if spec and spec.origin else None
