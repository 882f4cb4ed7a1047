"""Connectors and operators of other packages in YAML: the entry point's name is the key, the signature the form.

A package that cannot be imported, or whose class has no form, only affects files that use its key; the reason is
reported there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from graph_compiler.extensions import Extensible, load_kind, registered
from graph_compiler.projects.yaml.forms import Key, call_keys

_KEY = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageForms:
    """The kinds and the keys of their forms, each by its key in YAML; `refused` has the reasons of the others."""

    kinds: Mapping[str, type]
    keys: Mapping[str, Mapping[str, Key]]
    refused: Mapping[str, str]


def package_forms(base: type[Extensible], taken: Collection[str] = ()) -> PackageForms:
    """Return the forms that installed packages add to a base class; keys that are already `taken` are skipped."""
    kinds: dict[str, type] = {}
    keys: dict[str, Mapping[str, Key]] = {}
    refused: dict[str, str] = {}
    for entry in registered(base):
        key = entry.name
        if _KEY.fullmatch(key) is None:
            refused[key] = "the name of its entry point is not lowercase letters, digits and '_'"
        elif key in taken or key in kinds:
            refused[key] = f"'{entry.value}' is registered for a key that is taken"
        else:
            try:
                kind = load_kind(entry, base)
                keys[key] = call_keys(key, kind)
                kinds[key] = kind
            except Exception as error:  # another package may raise any exception
                refused[key] = str(error)
    return PackageForms(kinds=kinds, keys=keys, refused=refused)
