"""What Airflow loads from the plugins folder. It is executed under its bare file name: absolute imports only."""

from airflow.plugins_manager import AirflowPlugin


class GraphCompilerPlugin(AirflowPlugin):
    """Makes the package known to Airflow; the web view will hang here."""

    name = "graph_compiler"
