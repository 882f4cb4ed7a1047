"""Python's garbage collector in programs of ours: it is idle while modules are loaded, and at the end of Airflow.

Modules stay as long as the program, and are a hundred thousand objects and more. The collector looks at all of them
again and again while they are loaded, and at the end: of `graph-compiler run`, 3.5 seconds.

    import gc                           if __name__ == "__main__":
    gc.disable()                            modules_are_loaded()
    from … import …                         …
                                            skip_last_collection()
"""

import gc

_OBJECTS, _YOUNG, _OLDER = 10_000, 10, 10
"""Python's defaults are 700, 10 and 10: modules that a command loads later are many objects, too."""


def modules_are_loaded() -> None:
    """Let the collector work again, less often, and not on what there is now."""
    gc.freeze()
    gc.set_threshold(_OBJECTS, _YOUNG, _OLDER)
    gc.enable()


def skip_last_collection() -> None:
    """Leave all objects to the system; exit functions run.

    Only for a program that prints to a log: libraries may report objects that are left.
    """
    gc.freeze()
