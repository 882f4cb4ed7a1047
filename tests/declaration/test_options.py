from graph_compiler.declaration.options import PipelineOptions, ShuffleMode, read_options


def test_the_defaults_are_auto_and_batch() -> None:
    assert read_options(()) == (PipelineOptions(), ())
    assert PipelineOptions().shuffle_mode is ShuffleMode.AUTO


def test_flinks_keys_are_read() -> None:
    options, problems = read_options(
        (("parallelism.default", "4"), ("pipeline.operator-chaining.enabled", "false"))
    )
    assert problems == ()
    assert (options.parallelism, options.chaining_enabled) == (4, False)


def test_every_problem_is_found_and_a_close_key_suggested() -> None:
    _, problems = read_options(
        (("parallelism.defualt", "4"), ("execution.batch-shuffle-mode", "SOMETIMES"))
    )
    assert sorted(problem.message for problem in problems) == [
        "option 'execution.batch-shuffle-mode' is 'SOMETIMES'",
        "there is no option 'parallelism.defualt'",
    ]
    assert any(
        str(problem.allowed).startswith("AUTO, ALL_EXCHANGES_BLOCKING, ") for problem in problems
    )
    assert any(problem.hint == "did you mean 'parallelism.default'?" for problem in problems)
