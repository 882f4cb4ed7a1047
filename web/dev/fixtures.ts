/** Made-up documents, the same on each call: for the development server and for tests. */

import type { Attempt, DagOutcomes, ExecutionState, JobEdge, Operator, PlanDiff, RegionRun, RowSample, StagedResult, StreamEdge, Vertex, ViewPlan, ViewRun } from '../src/documents'
import { madeUpActual } from './actual'

function randomNumbers(): () => number {
  let seed = 7
  return () => (seed = (seed * 16807) % 2147483647) / 2147483647
}

const hex = (number: number): string => number.toString(16).padStart(32, '0')

/** A plan of `regions` regions with `size` vertices each, every vertex a chain of one to three operators. */
export function madeUpPlan(pipeline: string, regions: number, size: number, suffix = '', parallelism = 4): ViewPlan {
  const random = randomNumbers()
  const operators: Operator[] = []
  const stream_edges: StreamEdge[] = []
  const vertices: Vertex[] = []
  const edges: JobEdge[] = []
  const kinds = ['Filter', 'Map', 'Project', 'Aggregate']
  for (let index = 0; index < regions * size; index++) {
    const region = `task_${Math.floor(index / size)}`
    const members: number[] = []
    for (let step = 0; step <= Math.floor(random() * 3); step++) {
      const id = operators.length + 1
      members.push(id)
      operators.push({
        id,
        name: `operator_${id}${suffix}`,
        kind: index < 2 && step === 0 ? 'Source' : (kinds[id % kinds.length] ?? 'Map'),
        uid: null,
        operator_id: hex(id),
        vertex: hex(1_000_000 + index),
        parallelism,
        parallelism_configured: false,
        details: ['condition: value > 0 AND name <> \'<b>bold</b>\''],
        declared_at: `pipelines/example.py:${10 + id}`,
        expensive: id % 9 === 0,
      })
      if (step) {
        stream_edges.push({ id: `s${stream_edges.length}`, source: id - 1, target: id, partitioner: 'forward', output_tag: null, is_chained: true, why_not_chained: null })
      }
    }
    vertices.push({
      id: hex(1_000_000 + index),
      index,
      name: members.map((id) => `operator_${id}${suffix}`).join(' -> '),
      operators: members,
      region,
      parallelism,
      parallelism_configured: false,
      max_parallelism: 4096,
      slot_sharing_group: 'default',
    })
    const inputs = index < 2 ? 0 : random() < 0.25 ? 2 : 1
    const seen = new Set<number>()
    for (let input = 0; input < inputs; input++) {
      const source = index - 1 - Math.floor(random() * Math.min(index, size * 1.2))
      const from = vertices[source]
      if (!from || seen.has(source)) continue
      seen.add(source)
      const isStaged = from.region !== region
      const [a, b] = [from.operators.at(-1) ?? 0, members[0] ?? 0]
      stream_edges.push({ id: `s${stream_edges.length}`, source: a, target: b, partitioner: 'hash(key)', output_tag: null, is_chained: false, why_not_chained: 'its partitioner is not forward' })
      edges.push({
        id: `e${edges.length}`,
        source: from.id,
        target: hex(1_000_000 + index),
        from_operator: a,
        to_operator: b,
        ship_strategy: 'HASH',
        words: 'hash(key)',
        result_type: isStaged ? 'BLOCKING' : 'PIPELINED_BOUNDED',
        distribution: 'ALL_TO_ALL',
        output_tag: null,
        result: isStaged ? `${from.id}-0` : null,
        is_staged: isStaged,
        reason: isStaged ? 'DECLARED' : null,
        explanation: isStaged ? `because you asked: it is expensive${suffix}` : null,
      })
    }
  }
  const names = Array.from({ length: regions }, (_, number) => `task_${number}`)
  return {
    version: 1,
    pipeline,
    plan_id: 'made-up',
    description: `made up, of ${vertices.length} vertices`,
    options: [],
    operators,
    stream_edges,
    vertices,
    edges,
    regions: names.map((id) => ({
      id,
      task: id,
      vertices: vertices.filter((vertex) => vertex.region === id).map((vertex) => vertex.id),
      slot_sharing_group: 'default',
      resources: ['driver memory 4g'],
      failure_cost: { repeated: operators.slice(0, 4).map((operator) => operator.name), expensive: [], reread: ['task_0'], spared: 3 },
    })),
  }
}

/** A run of a plan; its id determines its outcome. */
export function madeUpRun(plan: ViewPlan, runId: string, begun: number, now: number): ViewRun {
  const isRunning = runId === 'running'
  const at = isRunning ? Math.floor((now - begun) / 12) % (plan.regions.length + 1) : plan.regions.length
  const regions = plan.regions.map((region, number): RegionRun => {
    const isBroken = runId === 'failed' && number === Math.min(1, plan.regions.length - 1)
    const isAfter = runId === 'failed' && number > 1
    const state: ExecutionState = isBroken ? 'FAILED' : isAfter ? 'CANCELED' : number > at ? 'CREATED' : number === at ? 'RUNNING' : 'FINISHED'
    if (state === 'CREATED' || state === 'CANCELED') return { id: region.id, state, airflow_state: isAfter ? 'upstream_failed' : null, attempts: [] }
    const started = begun - 300 + number * 40
    const isRetried = runId === 'retried' && number % 3 === 1
    const attempts = [
      ...(isRetried || isBroken ? [attempt(plan, region.id, 0, 'FAILED', started, started + 15)] : []),
      attempt(plan, region.id, isRetried || isBroken ? 1 : 0, state, started + (isRetried || isBroken ? 20 : 0), state === 'RUNNING' ? null : started + 38),
    ]
    return { id: region.id, state, airflow_state: state === 'FINISHED' ? 'success' : 'running', attempts }
  })
  const hasEnded = at === plan.regions.length
  return {
    version: 1,
    pipeline: plan.pipeline,
    group: '',
    run_id: runId,
    map_index: null,
    map_indexes: [],
    state: hasEnded ? (runId === 'failed' ? 'failed' : 'success') : 'running',
    run_type: runId === 'backfill' ? 'backfill' : 'manual',
    logical_date: runId === 'backfill' ? '2013-01-05T00:00:00+00:00' : null,
    queued: begun - 440,
    started: begun - 430,
    ended: hasEnded ? begun - 300 + plan.regions.length * 40 : null,
    dag_version: 2,
    plan_id: plan.plan_id,
    has_documents: true,
    tasks: 0,
    tasks_read: 0,
    reasons_are_shown: true,
    regions,
  }
}

function attempt(plan: ViewPlan, region: string, number: number, state: ExecutionState, started: number, ended: number | null): Attempt {
  const isFinished = state === 'FINISHED'
  const isRunning = state === 'RUNNING'
  const own = plan.vertices.filter((vertex) => vertex.region === region)
  const nameOf = (id: number | undefined): string => plan.operators.find((operator) => operator.id === id)?.name ?? 'operator_1'
  const broken = nameOf(own[Math.floor(own.length / 2)]?.operators[0])
  const staged = plan.edges.filter((edge) => edge.result && own.some((vertex) => vertex.id === edge.source))
  const done = isFinished ? own.length : Math.floor(own.length / 2)
  return {
    number,
    try_number: number + 1,
    execution_id: `${region}-${number}`,
    state,
    queued: started - (number ? 3 : 25),
    started,
    ended,
    host: 'worker-1',
    reason:
      state === 'FAILED'
        ? `pipeline '${plan.pipeline}', operator '${broken}': the input has no column "<carrier>"\n  found: carrier_code, origin, dest\n  hint: name the column that has the carrier\n  declared at pipelines/example.py:31`
        : null,
    throwable_type: state === 'FAILED' ? 'RECOVERABLE_ERROR' : null,
    failed_operator: state === 'FAILED' ? broken : null,
    current: isRunning ? { operator: nameOf(own[done]?.operators[0]), phase: 'stage', since: started + 5 } : null,
    recomputed: number > 0 && isFinished ? ['task_0: its staged result was gone from the disk'] : [],
    vertices: isFinished || isRunning || state === 'FAILED'
      ? own.map((vertex, index) => ({
          id: vertex.id,
          rows: index < done ? 1200 * (vertex.index + 1) : null,
          seconds: index < done ? 1.5 + vertex.index : null,
          operators: vertex.operators.map((id) => ({
            name: `operator_${id}`,
            rows_in: index < done ? 5000 : null,
            rows_out: index < done ? 1200 : null,
            side_rows: [['rejected', index < done ? 3 : null]],
            may_be_too_high: false,
          })),
        }))
      : [],
    outputs: isFinished ? staged.map((edge) => ({ kind: 'staged', name: region, location: `staging/${region}`, rows: 336776, bytes: 9_400_000, result: edge.result })) : [],
    contracts: isFinished ? [{ name: 'no_nulls', violations: number, rows: 336776, on_violation: 'warn', found: null }] : [],
    work: isFinished || isRunning
      ? {
          tasks: isFinished ? 48 : 12,
          failed_tasks: 0,
          repeated_stages: 0,
          input_bytes: 31_000_000,
          spilled_bytes: number * 5_000_000,
          shuffled_bytes: 120_000,
          slowest_task: isFinished ? { operator: nameOf(own[0]?.operators[0]), stage_id: 4, tasks: 24, median_seconds: 1.2, longest_seconds: 14.5, is_skewed: true } : null,
        }
      : null,
    application_id: 'local-1700000000000',
    spark_url: null,
    log_url: `/dags/example/runs/r/tasks/${region}?try_number=${number + 1}`,
    actual: isFinished ? madeUpActual(own.map((vertex) => vertex.id)) : null,
    remarks: isFinished && number > 0 ? ['stage 5: its tasks wrote 7.0 MB to disk, because their rows did not fit into memory\n  hint: give its slot sharing group more executor memory'] : [],
    batches: [],
  }
}

export function madeUpDiff(plan: ViewPlan): PlanDiff {
  const [first, second, third] = plan.operators
  const change = { facts: [], columns: [], name_before: null, id_before: null }
  return {
    summary: `${plan.pipeline}: 1 added, 1 changed, 1 affected · 1 of 2 staged results reusable · 1 task changed`,
    pipeline_before: plan.pipeline,
    pipeline: plan.pipeline,
    run: [],
    session: [{ fact: 'spark.sql.shuffle.partitions', before: null, now: '64' }],
    operators: [
      { ...change, kind: 'ADDED', name: first?.name ?? '', id: first?.operator_id ?? '' },
      {
        kind: 'CHANGED',
        name_before: second?.name ?? '',
        name: second?.name ?? '',
        id_before: second?.operator_id ?? '',
        id: second?.operator_id ?? '',
        facts: [{ fact: 'condition', before: 'a > 0', now: 'a > 1' }],
        columns: [{ before: null, now: 'late BOOLEAN', then: 'its target gets it, with NULL in the rows that stay' }],
      },
      { ...change, kind: 'AFFECTED', name: third?.name ?? '', id: third?.operator_id ?? '', id_before: third?.operator_id ?? '' },
      { ...change, kind: 'REMOVED', name_before: 'gone', name: null, id: null, id_before: hex(99) },
    ],
    results: [{ kind: 'REUSABLE', name: 'task_0', id_before: 'a', id: 'a' }],
    tasks: [{ kind: 'CHANGED', task: plan.regions[0]?.id ?? '', reasons: ['it has another vertex'] }],
    tasks_now: plan.regions.length,
    streams: [],
  }
}

export function madeUpResult(result: string): StagedResult {
  return {
    result,
    schema: [
      { name: 'carrier', type: 'string', nullable: false },
      { name: 'arr_delay', type: 'double', nullable: true },
    ],
    rows: 336776,
    bytes: 9_400_000,
    epoch: 1,
    partitions: [1, 2, 3, 4].map((number) => ({ rows: 80000 * number, bytes: 2_000_000 })),
    checksum: null,
    rows_are_shown: true,
  }
}

export function madeUpRows(): RowSample {
  return {
    epoch: 1,
    rows_in_result: 336776,
    columns: [
      { name: 'carrier', type: 'string', nullable: false },
      { name: 'arr_delay', type: 'double', nullable: true },
      { name: 'stops', type: 'array<struct<at:timestamp,gate:string>>', nullable: true },
      { name: 'remark', type: 'string', nullable: true },
    ],
    rows: [
      ['UA', '11.0', '[{"at": "2013-01-01 05:00:00Z", "gate": null}]', '<b>bold</b><img src=x onerror=alert(1)>'],
      ['null', null, '[]', null],
      ['', '-120.25', null, { text: 'a long remark, '.repeat(30), bytes: 20_000 }],
      ['DL', 'NaN', { text: '[{"at": '.repeat(40), bytes: null }, 'two\nlines'],
      ...Array.from({ length: 36 }, (_, number) => ['B6', String(number * 7 - 40), '[]', 'on time']),
    ],
    notes: ['Too large to be read here: picture.'],
  }
}

/** Runs in the list: ended, running with a backfill queued behind it, queued only, or none. */
export function madeUpOutcomes(number: number, begun: number): DagOutcomes {
  const run = (id: string, state: string, started: number | null, ended: number | null) => ({ run_id: id, state, run_type: state === 'queued' ? 'backfill' : 'scheduled', queued: begun - 520, started, ended })
  const ended = Array.from({ length: 8 }, (_, at) => run(`run ${at}`, at % 5 === number % 5 ? 'failed' : 'success', begun - 500 - at * 86400, begun - 300 + at * 7 - at * 86400))
  if (number % 4 === 3) return { last_run: null, running: 0, queued: 0, ended: [] }
  if (number % 4 === 2) return { last_run: run('queued', 'queued', null, null), running: 0, queued: 3, ended: [] }
  if (number % 4 === 1) return { last_run: run('running', 'running', begun - 60, null), running: 1, queued: 29, ended }
  return { last_run: ended[0] ?? null, running: 0, queued: 0, ended }
}
