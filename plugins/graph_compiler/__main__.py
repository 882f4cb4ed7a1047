"""`python -m graph_compiler`: the command line."""

from graph_compiler.cli.app import app

app(prog_name="graph-compiler")
