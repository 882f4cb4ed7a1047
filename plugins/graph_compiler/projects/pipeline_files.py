"""Find pipelines by the name or the path of their modules and YAML files, and load them.

load_pipeline("flights")   →   Pipeline, of pipelines/flights.py or pipelines/flights.yaml
"""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

from graph_compiler.declaration.artifacts.project_folder import YAML, project_of
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.pipeline import IncompletePipelineError, Pipeline
from graph_compiler.errors import InvalidPipelineError, Problem, SourceLocation
from graph_compiler.identifiers import PIPELINES, did_you_mean
from graph_compiler.projects.module_errors import importing

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
    _search_first(module.root)
    if module.file.suffix == YAML:
        # Imported when needed: building the models of the whole API takes longer than compiling a pipeline.
        from graph_compiler.projects.yaml.reader import read_pipeline

        with redirect_stdout(sys.stderr):
            return read_pipeline(Path(module.shown))
    if (hidden := _hidden(module)) is not None:
        raise InvalidPipelineError(module.file.stem, [hidden])
    with redirect_stdout(sys.stderr), importing(module.file.stem, module.file) as refused:
        imported = import_module(module.name)
    environment = getattr(imported, "env", None)
    pipeline, name = None, module.file.stem
    if isinstance(environment, StreamExecutionEnvironment):
        pipeline = None if environment.is_refused else environment.pipeline()
        name = environment.name or name
        # Another module may have imported this one before; then its refusals are reported there.
        known = environment.refused
        known.extend(one for one in refused if one not in known and _is_in(one, module.file))
        refused = known
    if refused:
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
    own = Path(f"{path}.py")
    file = own.resolve() if own.is_file() else _file_of(name)
    if declared.is_file() and file is not None:
        problem = Problem(message=f"there are {path}.py and {declared}", allowed="one of them")
        raise InvalidPipelineError(text, [problem])
    if declared.is_file():
        return pipeline_at(declared)
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
    """Return the file of a module outside this folder, wherever on sys.path it is."""
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    _search_first(Path.cwd())
    spec = _spec_of(name)
    return Path(spec.origin).resolve() if spec and spec.origin else None


def _hidden(module: PipelineFile) -> Problem | None:
    """Return the problem of a file whose name imports a different one.

    A package with an `__init__.py` hides folders without one, even those that come before it on sys.path.
    """
    package = module.name.partition(".")[0]
    own = module.root / package / "__init__.py"
    for name in (package, module.name):
        spec = _spec_of(name)
        other = spec.origin if spec else None
        if other is None or Path(other).resolve() in (module.file, own):
            continue
        hint = "run this in the folder the file belongs to"
        if name != module.name and not own.is_file():
            hint = (
                f"another project is on PYTHONPATH: write an empty {package}/__init__.py here, "
                "so that this folder's is found first"
            )
        return Problem(message=f"{module.shown} cannot be imported: '{name}' is {other}", hint=hint)
    return None


def _spec_of(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except Exception:  # its package is missing or cannot be imported: importing it says why
        return None


def _search_first(folder: Path) -> None:
    """Put a folder first on sys.path, before whatever PYTHONPATH names."""
    entry = str(folder)
    if sys.path[:1] != [entry]:
        sys.path[:] = [entry, *(other for other in sys.path if other != entry)]
