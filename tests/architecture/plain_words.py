"""Words and openings that readers stumble over, and what to write instead: the one list of them.

Patterns hold for documents, and for docstrings, comments and messages of the package. Add what a reader stumbled over.
"""

PLAIN_WORDS = (
    (r"\bdear(er|est)?\b", "expensive"),
    (r"\bshall\b", "must, or the present tense"),
    (r"\bwhoever\b", "anyone who, the task that"),
    (r"\bheld to\b", "checked against"),
    (r"\bgoes by\b", "depends on, follows"),
    (r"\blacks\b", "does not have, is missing"),
    (r"\bless its\b", "without its"),
    (r"\bbegins nowhere\b", "is a relative path"),
    (r"\bwithout a word\b", "without a report"),
    (r"\b(told|said|shown|refused|errors) in words\b", "reported, with a clear message"),
    (r"\bwhat is wrong with\b", "the problems of"),
    (r"\bis another[.;,:]", "differs, is a different one"),
    (r"\bis no (yaml|json|python|utf-8)\b", "is not valid YAML, is not …"),
    (r"\ba home of its own\b", "its own Airflow home"),
    (r"\b(would|may) be others\b", "could be different"),
    (r"\bis meant\b(?= *['\"])", "is supported, is expected"),
    (r"\bin more than case\b", "names that differ only in case are the same"),
    (r"\bsaid of\b", "the messages for, what applies to"),
    (r"\basked of\b", "required of, what it must do"),
    (r"\btells? of\b", "reports, shows"),
    (r"\bon wish\b", "on request"),
    (r"\bfor ever\b", "forever"),
    (r"\btime stamps?\b", "timestamp, as Spark writes it"),
    (r"\bsmall letters\b", "lowercase letters"),
    (r"\btruth values?\b", "Boolean"),
    (r"\bmisspelt\b", "misspelled"),
    (r"\bnothing but\b", "only"),
    (r"\b(nobody|somebody)\b", "no task, another process, someone"),
    (r"\banew\b", "again"),
    (r"\bgo(es)? on\b", "continue"),
    (r"\bbefalls?\b", "happens to"),
    (r"\bvouch(es)? for\b", "prove, confirm"),
    (r"\b(thereby|hence)\b", "so, therefore"),
    (r"\b(is|are|was|were) (said|told)\b", "is reported, the message says"),
    (r"\bwithout saying\b", "implicitly"),
    (r"\b\w*(colour|neighbour|behaviour|honour)", "American spelling: color, neighbor, …"),
)
"""Patterns, whatever the case, and better words."""

OPENINGS = (
    (r"Give ", "Return …, Yield …"),
    (r"Say ", "Return …, Whether …"),
    (r"Hold ", "Check …, Compare …"),
    (r"Hand ", "Pass …"),
    (r"Look ", "Check …, Wait …"),
    (r"Tell(s)? ", "Return …, Report …"),
)
"""How no docstring begins, and what it begins with instead."""
