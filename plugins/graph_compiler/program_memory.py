"""Python's garbage collector in programs that load hundreds of modules: it is idle until they are loaded.

Modules stay as long as the program. The collector would look at their hundred thousand objects again and again.

    gc.disable()
    from … import …
    modules_are_loaded()
"""

import gc

_OBJECTS, _YOUNG, _OLDER = 10_000, 10, 10
"""Python's defaults are 700, 10 and 10: modules that a command loads later are many objects, too."""


def modules_are_loaded() -> None:
    """Let the collector work again, less often, and not on what there is now."""
    gc.freeze()
    gc.set_threshold(_OBJECTS, _YOUNG, _OLDER)
    gc.enable()
