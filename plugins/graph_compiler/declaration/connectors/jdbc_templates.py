"""Where a database's settings may have templates, and what they may become, so that triggering a run cannot inject SQL.

    table                    one name of a table
    url                      letters of a name after the host: the database
    options                  one line, in options that take no SQL, no class and no file
    user, bounds             any text: a login name, and bounds that must be numbers, dates or timestamps

`{{ var.… }}` and `{{ conn.… }}` are set by the deployment, not by the trigger of a run: they may be anywhere in a url
or an option that has no other templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from graph_compiler.declaration.connectors.secret import SecretText
from graph_compiler.declaration.connectors.table_name import holds_a_name, why_no_table
from graph_compiler.errors import Problem
from graph_compiler.identifiers import listing, shown

TEMPLATE = re.compile(r"\{\{|\{%|\{#")
_EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_DEPLOYMENTS_WORD = re.compile(r"\{\{\s*(var\.(value|json)|conn)(\.\w+)+\s*\}\}")
_MARK = "\0"
_WORD = r"[\w.-]*"
_LINE = re.compile(r"[^\x00-\x1f\x7f]{0,200}")
_OPTIONS = ("ApplicationName", "currentSchema", "fetchsize", "batchsize", "queryTimeout")
"""Options whose values are names or numbers, for every driver."""
_OWN_FIELDS = {
    "url": "url",
    "dbtable": "table=",
    "query": "query=",
    "partitioncolumn": "partition_column=",
    "lowerbound": "lower_bound=",
    "upperbound": "upper_bound=",
}
_TABLE = 'one table\'s name, its parts between dots: orders, sales.orders, "Sales"."Orders"'
_HINT = "anyone who can trigger the run could change what the database executes"


def find_template_problems(
    table: str | None, url: SecretText, options: Mapping[str, SecretText], fixed: Mapping[str, str]
) -> Iterator[Problem]:
    """Return the problems of declared templates; `fixed` are texts that are never rendered."""
    if table is not None and TEMPLATE.search(table) and not holds_a_name(table):
        yield Problem(message=f"its table contains a template in {shown(table)}", allowed=_TABLE)
    if isinstance(url, str) and (reason := _why_no_url(url)):
        allowed = "templates after the host (the database), {{ conn.… }}, {{ var.… }}, Secret(…)"
        yield Problem(message=f"its url contains a template {reason}", allowed=allowed, hint=_HINT)
    for key, value in options.items():
        if own := _OWN_FIELDS.get(key.lower()):
            yield Problem(message=f"its options hold '{key}'", allowed=f"{own} of the connector")
        elif isinstance(value, str) and _is_from_outside(value) and not _may_be_rendered(key):
            yield Problem(
                message=f"its option '{key}' contains a template",
                allowed=f"templates in {listing(_OPTIONS)}; {{{{ conn.… }}}} and {{{{ var.… }}}} in any",
                hint=_HINT,
            )
    for name, text in fixed.items():
        if found := TEMPLATE.search(text):
            yield Problem(message=f"its {name} contains a template ({found[0]} …)", allowed="none")


def find_rendering_problems(declared: Mapping[str, str], rendered: Mapping[str, str]) -> Iterator[Problem]:
    """Return the problems of rendered texts, compared with the declared ones under the same keys."""
    for key, text in declared.items():
        found = rendered.get(key, text)
        if not TEMPLATE.search(text):
            continue
        if key == "table" and (reason := why_no_table(text, found)):
            yield Problem(message=f"its table is rendered as {shown(found)}: {reason}", allowed=_TABLE)
        elif key == "url" and not _fits(text, found):
            allowed = "letters, digits, '_', '-' and '.' where its templates are"
            # The url is not shown, since it may contain a password.
            yield Problem(message="its url renders to more than names", allowed=allowed)
        elif key.startswith("options.") and not _LINE.fullmatch(found):
            message = f"its option '{key.removeprefix('options.')}' is rendered as {shown(found)}"
            yield Problem(message=message, allowed="one line of at most 200 characters")


def _why_no_url(url: str) -> str | None:
    """Return why a url has a template in a forbidden place, None if it has none there."""
    if not _is_from_outside(url):
        return None
    if "{%" in url or "{#" in url:
        return "that is not an expression"
    # A separator inside an expression does not separate parts of the url.
    marked = _EXPRESSION.sub(lambda found: _MARK if _is_from_outside(found[0]) else "x", url)
    host = re.match(r"jdbc:\w+://[^/?;]*/", marked)
    if host is None or _MARK in host[0]:
        return "before its database: the password would go to any host"
    _, *parameters = re.split(r"[?;&]", marked, maxsplit=1)
    return "among its parameters" if any(_MARK in text for text in parameters) else None


def _may_be_rendered(option: str) -> bool:
    return option.lower() in {name.lower() for name in _OPTIONS}


def _is_from_outside(text: str) -> bool:
    """Whether the user who triggers a run may influence how a text is rendered."""
    return TEMPLATE.search(_DEPLOYMENTS_WORD.sub("", text)) is not None


def _fits(declared: str, rendered: str) -> bool:
    """Whether a rendered text is the declared one, with only letters of names in place of its templates."""
    if not _is_from_outside(declared):
        return True
    literal = [re.escape(text) for text in _EXPRESSION.split(declared)]
    return re.fullmatch(_WORD.join(literal), rendered) is not None
