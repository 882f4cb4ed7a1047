"""What `<<` makes of several mappings, by YAML's merge key type."""

from graph_compiler.projects.yaml.tree import place_of, plain_tree, read_tree

TEXT = """\
a: &a {x: 1, y: 1}
b: &b {y: 2, z: 2}
c: {<<: [*a, *b], x: 3}
"""


def test_own_keys_win_then_those_of_earlier_mappings() -> None:
    found = read_tree(TEXT, "p.yaml")
    assert plain_tree(found)["c"] == {"x": 3, "y": 1, "z": 2}  # type: ignore[index]  # it is a mapping
    assert place_of(found, ("c", "y")).line == 1
    assert place_of(found, ("c", "z")).line == 2
