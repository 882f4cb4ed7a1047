"""Names that follow from a content."""

from __future__ import annotations

import hashlib
import json


def digest(content: object) -> str:
    """Return the sha256 of a JSON document, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
