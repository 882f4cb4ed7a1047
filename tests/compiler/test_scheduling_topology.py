"""Regions that wait for each other become one, a case that the corpus does not have."""

from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.execution_graph.scheduling_topology_builder import build_scheduling_topology
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.partitioners import ExchangeMode, ForwardPartitioner
from graph_compiler.declaration.transformations import PartitionTransformation


def sizes_of_regions(*, there_and_back: bool) -> list[int]:
    """Declare six vertices in two regions, with results between them that need not be consumed at once.

    m1 → g1 leads from the second region to the first; g1 → q1, if wanted, back again.
    """
    env = StreamExecutionEnvironment("p", config={"execution.batch-shuffle-mode": "ALL_EXCHANGES_PIPELINED"})

    def hybrid(stream: DataStream) -> DataStream:
        mode = ExchangeMode.HYBRID_FULL
        partition = PartitionTransformation(
            id=env.next_id(), inputs=(stream.id,), partitioner=ForwardPartitioner(), exchange_mode=mode
        )
        return env.add(partition)

    a = env.from_source(Csv("/a"), "a").set_parallelism(4)
    m = env.from_source(Csv("/m"), "m").set_parallelism(3)
    b = a.rescale().union(m.rescale()).filter("x").name("b").set_parallelism(2)
    g = a.rescale().union(hybrid(m)).filter("x").name("g").set_parallelism(3)
    q = (hybrid(g) if there_and_back else m.forward()).filter("x").name("q").set_parallelism(3).start_new_chain()
    r = q.rescale().union(b.forward()).filter("x").name("r").set_parallelism(2)
    r.sink_to(Parquet("/r")).set_parallelism(2)
    g.sink_to(Parquet("/g")).set_parallelism(3)
    compiled = compile_pipeline(env.pipeline())
    assert compiled.execution_graph is not None
    topology = build_scheduling_topology(compiled.job_graph, compiled.execution_graph)
    return sorted(len(region) for region in topology.regions)


def test_regions_that_do_not_wait_for_each_other_stay_apart() -> None:
    assert len(sizes_of_regions(there_and_back=False)) == 2


def test_regions_that_wait_for_each_other_become_one() -> None:
    assert len(sizes_of_regions(there_and_back=True)) == 1
