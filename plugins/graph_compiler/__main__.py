"""`python -m graph_compiler`, and `graph-compiler`: the command line."""

import gc

from graph_compiler.program_memory import modules_are_loaded


def main() -> None:
    """Run the command line; raises SystemExit with its code."""
    gc.disable()
    from graph_compiler.cli.app import app  # hundreds of modules

    modules_are_loaded()
    app(prog_name="graph-compiler")


if __name__ == "__main__":
    main()
