import pytest

from graph_compiler.graphs.topology import CycleError, connected_components, post_order, strongly_connected_components

DIAMOND = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}


def test_post_order_lists_successors_first_each_once() -> None:
    assert post_order(["a"], lambda id: DIAMOND[id]) == ["d", "b", "c", "a"]


def test_post_order_names_the_cycle() -> None:
    graph = {"a": ["b"], "b": ["c"], "c": ["b"]}
    with pytest.raises(CycleError) as found:
        post_order(["a"], lambda id: graph[id])
    assert found.value.cycle == ("b", "c", "b")


def test_post_order_is_not_bounded_by_the_recursion_limit() -> None:
    length = 50_000
    assert post_order([0], lambda id: [id + 1] if id < length else [])[0] == length


def test_components_keep_the_order_of_the_ids() -> None:
    assert connected_components("abcde", [("d", "b"), ("e", "d")]) == [["a"], ["b", "d", "e"], ["c"]]


def test_strong_components_are_cycles_and_single_ids() -> None:
    graph = {"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": ["e"], "e": []}
    assert strongly_connected_components(graph) == [["a", "b", "c"], ["d"], ["e"]]
