import { describe, expect, it } from 'vitest'
import { madeUpDiff, madeUpPlan, madeUpRun } from '../dev/fixtures'
import { namedOutside, outsideQuery } from '../src/surroundings'
import { wrap } from '../src/model/textWidth'
import { serverNow, setByAnswer } from '../src/clock'
import { addressOf, readAddress, withGroup, writeAddress } from '../src/address'
import { apiPath } from '../src/api'
import { linkTarget } from '../src/links'
import { collapse } from '../src/model/collapse'
import { connections, gridSize, subtaskAt } from '../src/model/executionGrid'
import { placeGraph } from '../src/model/graph'
import { failureWords, jobGraph } from '../src/model/jobGraph'
import { move, nextEdge } from '../src/model/navigate'
import { changeMarks, currentAttempt, hints, runMarks } from '../src/model/runState'
import { search } from '../src/model/search'
import { streamGraph } from '../src/model/streamGraph'
import { fit, textWidth } from '../src/model/textWidth'
import { bytesWords, counted, secondsWords } from '../src/model/words'

const plan = madeUpPlan('flights', 3, 4)

describe('the job graph', () => {
  const model = jobGraph(plan)
  it('has a box a vertex with its operators in it, and a hull a region', () => {
    expect(model.nodes).toHaveLength(12)
    expect(model.groups.map((group) => group.id)).toEqual(['task_0', 'task_1', 'task_2'])
    expect(model.nodes[0]?.lines).toEqual([
      { name: 'operator_1', kind: 'Source', role: 'source' },
      { name: 'operator_2', kind: 'Project', role: null },
    ])
    expect(model.nodes[0]?.roles).toEqual(['source'])
  })
  it('tells staged edges, and why they are', () => {
    const staged = model.edges.find((edge) => edge.kind === 'staged')
    expect(staged?.words).toEqual(['staged', 'hash(key)'])
    expect(staged?.reason).toBe('you asked: it is expensive')
    expect(staged?.description).toContain('because you asked')
  })
  it('tells why an edge stays in memory where the declaration asks for that', () => {
    const [first, ...rest] = plan.edges
    if (!first) throw new Error('no edge')
    const asked = { ...first, is_staged: false, result_type: 'PIPELINED_BOUNDED' as const, explanation: 'because you asked: "a few rows"' }
    const told = jobGraph({ ...plan, edges: [asked, ...rest] }).edges.find((edge) => edge.id === first.id)
    expect(told?.description).toMatch(/, in memory — because you asked: "a few rows"$/)
    expect(told?.kind).toBe('plain')
  })
  it('counts operators there is no room for', () => {
    const [vertex, ...rest] = plan.vertices
    const long = { ...plan, vertices: [{ ...vertex!, operators: [1, 2, 3, 4, 5, 6, 7] }, ...rest] }
    expect(jobGraph(long).nodes[0]).toMatchObject({ hidden: 2 })
    expect(jobGraph(long).nodes[0]?.lines).toHaveLength(5)
  })
  it('says what a failure repeats', () => {
    expect(failureWords(plan, 'task_1')[0]).toBe('A failure repeats 4 operators: operator_1, operator_2, operator_3, operator_4')
    expect(failureWords(plan, 'none')).toEqual([])
  })
  it('folds into its tasks', () => {
    const folded = collapse(model)
    expect(folded.nodes.map((node) => node.id)).toEqual(['task_0', 'task_1', 'task_2'])
    expect(folded.edges.every((edge) => edge.source !== edge.target)).toBe(true)
    expect(folded.edges[0]).toMatchObject({ source: 'task_0', target: 'task_1', kind: 'staged' })
  })
})

it('draws partitioners and side outputs of the stream graph as virtual nodes', () => {
  const [edge, ...rest] = plan.stream_edges
  const tagged = { ...plan, stream_edges: [{ ...edge!, is_chained: false, output_tag: 'cancelled' }, ...rest] }
  expect(streamGraph(tagged).edges[0]).toMatchObject({ kind: 'virtual', words: ['side output cancelled'] })
  expect(streamGraph(plan).edges.find((found) => found.kind === 'virtual')?.words).toEqual(['hash(key)'])
  expect(streamGraph(plan).edges[0]).toMatchObject({ kind: 'chained', words: [] })
})

it('says that a parallelism is decided at run time', () => {
  const open = { ...plan, vertices: plan.vertices.map((vertex) => ({ ...vertex, parallelism: null, max_parallelism: null })) }
  expect(jobGraph(open).nodes[0]?.subtitle).toBe('parallelism decided at run time')
  expect(connections(open, open.edges[0]!.target)[0]).toContain('decided at run time')
})

describe('search', () => {
  it('finds by parts of the name, whole names first', () => {
    const found = search(plan, 'job', 'operator_1')
    expect(found[0]).toMatchObject({ words: 'operator_1', selection: { kind: 'node', id: plan.vertices[0]?.id } })
    expect(found.length).toBeGreaterThan(1)
  })
  it('finds tasks, and operators of the stream graph', () => {
    expect(search(plan, 'job', 'TASK_2')[0]?.selection).toEqual({ kind: 'group', id: 'task_2' })
    expect(search(plan, 'stream', 'operator_3')[0]?.selection).toEqual({ kind: 'node', id: '3' })
  })
  it('finds nothing for nothing', () => {
    expect(search(plan, 'job', '  ')).toEqual([])
    expect(search(plan, 'job', 'nobody')).toEqual([])
  })
})

describe('the arrow keys', () => {
  const graph = placeGraph(jobGraph(plan), 'right', false)
  const edge = graph.model.edges[0]!
  it('follow an edge with the flow and against it', () => {
    const there = move(graph, { kind: 'node', id: edge.source }, 'ArrowRight')
    expect(graph.model.edges.some((found) => found.source === edge.source && found.target === there?.id)).toBe(true)
    expect(move(graph, { kind: 'edge', id: edge.id }, 'ArrowLeft')).toEqual({ kind: 'node', id: edge.source })
  })
  it('turn with the picture', () => {
    const turned = placeGraph(jobGraph(plan), 'down', false)
    expect(move(turned, { kind: 'edge', id: edge.id }, 'ArrowDown')).toEqual({ kind: 'node', id: edge.target })
  })
  it('begin at the first vertex and stay where nothing follows', () => {
    expect(move(graph, null, 'ArrowRight')).toEqual({ kind: 'node', id: plan.vertices[0]?.id })
    const source = { kind: 'node' as const, id: plan.vertices[0]!.id }
    expect(move(graph, source, 'ArrowLeft')).toEqual(source)
  })
  it('go round the edges of a vertex', () => {
    const first = nextEdge(graph, { kind: 'node', id: edge.source })
    expect(first).toEqual({ kind: 'edge', id: edge.id })
  })
})

it('colors each side of a comparison', () => {
  const diff = madeUpDiff(plan)
  const marks = changeMarks(plan, diff, 'new')
  // The first vertex has an added operator beside a changed one: it is changed, not new.
  expect(marks.nodes.get(plan.vertices[0]!.id)?.change).toBe('changed')
  expect(marks.nodes.get(plan.vertices[1]!.id)?.change).toBe('affected')
  expect(marks.groups.get('task_0')?.change).toBe('changed')
  const old = changeMarks(plan, { ...diff, operators: [{ ...diff.operators[3]!, id_before: plan.operators[2]!.operator_id }] }, 'old')
  expect([...old.nodes.values()].map((mark) => mark.change)).toEqual(['changed'])
})

describe('the execution graph', () => {
  it('fits four thousand subtasks', () => {
    const size = gridSize(4000, 720)
    expect(size.columns * size.cell).toBeLessThanOrEqual(720)
    expect(size.columns * size.rows).toBeGreaterThanOrEqual(4000)
    expect(subtaskAt(size, 4000, 0, 0)).toBe(0)
    expect(subtaskAt(size, 4000, 719, size.rows * size.cell - 1)).toBeNull()
  })
  it('counts connections as Flink makes them', () => {
    const edge = plan.edges[0]!
    expect(connections(plan, edge.target)[0]).toContain('ALL_TO_ALL, 4 → 4, 16 connections')
    const pointwise = { ...plan, edges: [{ ...edge, distribution: 'POINTWISE' as const }] }
    expect(connections(pointwise, edge.target)[0]).toContain('4 connections')
  })
})

describe('addresses', () => {
  it('read what they write', () => {
    const address = { dagId: 'a b', runId: 'manual__2013-01-01T00:00:00+00:00', group: 'emea.daily', mapIndex: '3', regionId: 't', tab: 'stream' as const }
    expect(readAddress(writeAddress(address))).toEqual(address)
  })
  it('take no placeholder for a name, and no unknown view', () => {
    expect(readAddress('?dag_id={DAG_ID}&run_id=r&tab=nonsense&map_index={MAP_INDEX}')).toEqual(addressOf(null, 'r'))
    expect(readAddress('?map_index=-1').mapIndex).toBeNull()
  })
  it('have the group of a task, the longest that fits, else the first', () => {
    const groups = ['a', 'a.b', '']
    const at = (regionId: string | null) => withGroup({ ...addressOf('d'), regionId }, groups)
    expect(at('a.b.t')).toMatchObject({ group: 'a.b', regionId: 't' })
    expect(at('a.t')).toMatchObject({ group: 'a', regionId: 't' })
    expect(at('t')).toMatchObject({ group: 'a', regionId: 't' })
    const foreign = withGroup({ ...addressOf('d'), regionId: 'mail', mapIndex: '3' }, ['a', 'a.b'])
    expect(foreign).toMatchObject({ group: 'a', regionId: null, mapIndex: null })
    expect(withGroup(addressOf('d', 'old run', 'gone'), ['a']).group).toBe('a')
    expect(at(null).group).toBe('a')
    expect(withGroup(addressOf('d', null, 'a.b'), groups).group).toBe('a.b')
    expect(withGroup(addressOf('d'), ['']).group).toBeNull()
    expect(withGroup(addressOf('d'), []).group).toBeNull()
  })
  it('escape what they hold', () => {
    expect(apiPath(['dags', 'a/../b', 'plan'], { run_id: 'x+y', version: null })).toBe('../api/dags/a%2F..%2Fb/plan?run_id=x%2By')
  })
  it('follow no script', () => {
    const page = 'http://host/prefix/graph-compiler/app/'
    expect(linkTarget('/dags/f/runs/r', page)).toBe('http://host/prefix/dags/f/runs/r')
    expect(linkTarget('https://spark/history', page)).toBe('https://spark/history')
    for (const url of ['javascript:alert(1)', '//evil/x', 'data:text/html,x', '', null]) expect(linkTarget(url, page)).toBeNull()
  })
})

it('says figures in words', () => {
  expect([bytesWords(0), bytesWords(1500), bytesWords(9_400_000), bytesWords(null)]).toEqual(['0 B', '1.5 kB', '9.4 MB', '–'])
  expect([secondsWords(0), secondsWords(1.54), secondsWords(75), secondsWords(120), secondsWords(7260)]).toEqual(['0 s', '1.5 s', '1 min 15 s', '2 min', '2 h 1 min'])
  expect([counted(1, 'row'), counted(1234567, 'row')]).toEqual(['1 row', '1,234,567 rows'])
})

it('cuts what does not fit', () => {
  expect(fit('short', 100, 11)).toBe('short')
  const cut = fit('a name much longer than its box', 80, 11)
  expect(cut.endsWith('…')).toBe(true)
  expect(textWidth(cut, 11)).toBeLessThanOrEqual(80)
})

it('knows what the page around it names already', () => {
  expect(namedOutside('/dags/a/plugin/graph-compiler-plan')).toBe('dag')
  expect(namedOutside('/prefix/dags/a/runs/manual__1/plugin/graph-compiler-run-plan')).toBe('run')
  expect(namedOutside('/plugin/graph-compiler')).toBe(null)
})

it('lets the page around name what is shown, beside what is not ours', () => {
  const address = { ...addressOf('a', 'r'), tab: 'stream' as const }
  expect(outsideQuery('', address, null)).toBe('?dag_id=a&run_id=r&tab=stream')
  expect(outsideQuery('?tab=job&theirs=1', address, 'dag')).toBe('?theirs=1&run_id=r&tab=stream')
  expect(outsideQuery('?region=x', address, 'run')).toBe('?tab=stream')
  expect(outsideQuery('?dag_id=a&tab=job', addressOf(null), null)).toBe('')
  expect(readAddress('?dag_id=a', '?tab=stream&dag_id=b')).toEqual({ ...addressOf('a'), tab: 'stream' })
})

it('breaks names where they may be broken, and never makes more lines than there is room for', () => {
  const lines = wrap('with_carrier_name -> Sink: late_routes', 120, 13, 2, true)
  expect(lines.length).toBe(2)
  expect(lines[0]).toMatch(/[_ >]$/)
  expect(lines[1]).toMatch(/…$/)
  expect(wrap('short', 120, 13, 2)).toEqual(['short'])
  expect(wrap('', 120, 13, 2)).toEqual([])
  expect(wrap('x'.repeat(90), 60, 13, 3).length).toBe(3)
})

it('hints at memory that was short and at tasks that the others waited for', () => {
  const work = { tasks: 9, failed_tasks: 0, repeated_stages: 0, input_bytes: 1, spilled_bytes: 0, shuffled_bytes: 0 }
  const slow = { operator: 'joined', stage_id: 3, tasks: 9, median_seconds: 2, longest_seconds: 40, is_skewed: true }
  expect(hints(null)).toEqual([])
  expect(hints({ ...work, slowest_task: null })).toEqual([])
  expect(hints({ ...work, spilled_bytes: 2_000_000, slowest_task: { ...slow, is_skewed: false } })).toEqual(['2.0 MB spilled'])
  expect(hints({ ...work, slowest_task: slow })).toEqual(['skew in joined: slowest task 40 s, median 2 s'])
})

it('times what runs by the clock of the server', () => {
  setByAnswer('Sat, 21 Nov 2026 20:00:00 GMT', Date.UTC(2026, 10, 21, 21, 0, 0))
  expect(serverNow(Date.UTC(2026, 10, 21, 21, 0, 10))).toBe(Date.UTC(2026, 10, 21, 20, 0, 10) / 1000)
  setByAnswer('nonsense', 0)
  setByAnswer(null, 0)
  expect(serverNow(3_600_000)).toBe(0)
  setByAnswer('Thu, 01 Jan 1970 00:00:01 GMT', 0)
  expect(serverNow(0)).toBe(0)
})

it('shows nothing of what a task did before it was cleared', () => {
  const run = madeUpRun(plan, 'success', 1000, 2000)
  const cleared = { ...run, regions: run.regions.map((region, at) => (at ? region : { ...region, state: 'SCHEDULED' as const })) }
  const id = plan.regions[0]!.id
  expect(currentAttempt(run, id)).not.toBe(null)
  expect(currentAttempt(cleared, id)).toBe(null)
  expect(runMarks(plan, cleared, 2000).nodes.get(plan.regions[0]!.vertices[0]!)).toMatchObject({ state: 'SCHEDULED', attempt: null, foot: 'SCHEDULED' })
})
