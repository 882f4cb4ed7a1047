"""How the plugin registers the view in Airflow, and what it costs processes that never show it."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]

LOADED = """
import sys
import airflow.plugins_manager
before = set(sys.modules)
import graph_compiler_plugin
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""
FOUND = """
from airflow import plugins_manager
plugins, errors = plugins_manager._get_plugins()
print([type(each).__module__ for each in plugins if each.name == "graph_compiler"], errors)
"""


def test_loading_the_plugin_imports_nothing_of_the_view() -> None:
    from graph_compiler import graph_compiler_plugin

    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        cwd=Path(graph_compiler_plugin.__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "graph_compiler_plugin"


@pytest.mark.parametrize("is_installed", [True, False])
def test_the_plugin_is_loaded_once_where_the_plugins_folder_has_it_too(is_installed: bool, tmp_path: Path) -> None:
    """Airflow loads the folder first, then entry points, and lists a name that it has as an import error."""
    from graph_compiler import graph_compiler_plugin

    package = Path(graph_compiler_plugin.__file__).parent
    if is_installed:
        info = tmp_path / "graph_compiler-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: graph-compiler\nVersion: 1\n")
        entry = "graph_compiler = graph_compiler.graph_compiler_plugin:GraphCompilerPlugin"
        (info / "entry_points.txt").write_text(f"[airflow.plugins]\n{entry}\n")
    done = subprocess.run(
        [sys.executable, "-c", FOUND],
        env={
            **os.environ,
            "AIRFLOW_HOME": str(tmp_path),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(package.parent),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(package.parent)]),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    module = "graph_compiler.graph_compiler_plugin" if is_installed else "graph_compiler_plugin"
    assert done.stdout.splitlines()[-1] == f"[{module!r}] {{}}"


def test_the_view_is_in_the_navigation_and_on_every_dag_page() -> None:
    from airflow.api_fastapi.core_api.datamodels.plugins import ExternalViewResponse

    from graph_compiler.graph_compiler_plugin import GraphCompilerPlugin

    views = [ExternalViewResponse.model_validate(one) for one in GraphCompilerPlugin.external_views]
    found = {view.destination: view.href for view in views}
    assert found == {
        "nav": "graph-compiler/app/",
        "dag": "graph-compiler/app/?dag_id={DAG_ID}",
        "dag_run": "graph-compiler/app/?dag_id={DAG_ID}&run_id={RUN_ID}",
        "task": "graph-compiler/app/?dag_id={DAG_ID}&region={TASK_ID}",
        "task_instance": "graph-compiler/app/?dag_id={DAG_ID}&run_id={RUN_ID}&region={TASK_ID}&map_index={MAP_INDEX}",
    }
    assert len({view.url_route for view in views}) == len(views)
    # Below any path that Airflow may be served under.
    assert not any(urlsplit(view.href).path.startswith("/") for view in views)


def test_the_icons_are_among_the_files_of_the_page() -> None:
    from graph_compiler.airflow_backend.web.routes.pages import STATIC
    from graph_compiler.graph_compiler_plugin import PAGE, GraphCompilerPlugin

    icons = {view[key] for view in GraphCompilerPlugin.external_views for key in ("icon", "icon_dark_mode")}
    assert len(icons) == 2
    assert all((STATIC / icon.removeprefix(PAGE)).is_file() for icon in icons)
