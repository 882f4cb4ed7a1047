import { describe, expect, it } from 'vitest'
import { madeUpPlan, madeUpRun } from '../dev/fixtures'
import type { Attempt } from '../src/documents'
import { actualWords } from '../src/model/actual'
import { attemptSeconds, attemptWords, currentAttempt, leftOutWords, runMarks, statesShown } from '../src/model/runState'
import { failureNotes, shortReason, shortRecomputed, timeline } from '../src/model/timeline'

const plan = madeUpPlan('flights', 3, 4)

it('lets no clock run backwards, and no attempt go on that is over', () => {
  const attempt = { ...madeUpRun(plan, 'success', 1000, 2000).regions[0]!.attempts[0]!, started: 1000 }
  expect(attemptSeconds({ ...attempt, state: 'FINISHED', ended: 990 }, 2000)).toBe(0)
  expect(attemptSeconds({ ...attempt, state: 'FAILED', ended: null }, 2000)).toBeNull()
  expect(attemptSeconds({ ...attempt, state: 'RUNNING', ended: null }, 2000)).toBe(1000)
  const lost = { ...madeUpRun(plan, 'success', 1000, 2000), started: 1000, ended: 1100, regions: [{ id: 'task_0', state: 'FAILED' as const, airflow_state: 'failed', attempts: [{ ...attempt, state: 'FAILED' as const, ended: null }] }] }
  expect(timeline(lost, ['task_0'], 90_000)).toMatchObject({ end: 1100, rows: [{ bars: [{ from: 0, to: 0 }] }] })
})

describe('a run', () => {
  it('gives each vertex its own state and figures', () => {
    const run = madeUpRun(plan, 'failed', 1000, 2000)
    const marks = runMarks(plan, run, 2000)
    expect(marks.nodes.get(plan.vertices[0]!.id)).toMatchObject({ state: 'FINISHED', foot: '1,200 rows · 1.5 s' })
    const failed = plan.vertices.filter((vertex) => marks.nodes.get(vertex.id)?.state === 'FAILED')
    const named = plan.operators.find((operator) => operator.id === plan.vertices[6]!.operators[0])?.name
    expect(failed.map((vertex) => vertex.id)).toEqual([plan.vertices[6]!.id])
    expect(marks.nodes.get(plan.vertices[6]!.id)).toMatchObject({ attempt: 2, foot: `FAILED · in ${named}` })
    expect(marks.nodes.get(plan.vertices[4]!.id)).toMatchObject({ state: 'CANCELED', foot: 'CANCELED · 6,000 rows · 5.5 s' })
    expect(marks.groups.get('task_1')?.state).toBe('FAILED')
    expect(marks.nodes.get(plan.vertices[8]!.id)).toMatchObject({ isIdle: true, attempt: null, foot: 'did not run' })
    expect(marks.groups.get('task_2')).toMatchObject({ isIdle: true, foot: 'CANCELED · did not run' })
    expect(statesShown(marks)).toEqual(['FINISHED', 'CANCELED', 'FAILED'])
  })
  it('says how many tasks it was read of, where it was not read of all', () => {
    const run = madeUpRun(plan, 'success', 1000, 2000)
    expect(leftOutWords({ ...run, tasks: 3, tasks_read: 3 })).toBeNull()
    expect(leftOutWords({ ...run, tasks: 12345, tasks_read: 10000 })).toMatch(/^Attempts of 10,000 of 12,345 tasks are read/)
  })
  it('marks the vertex of the last known step where a driver died without a report, and none where nothing is known', () => {
    const run = madeUpRun(plan, 'failed', 1000, 2000)
    const died = (current: Attempt['current']) => {
      const regions = run.regions.map((region) => ({ ...region, attempts: region.attempts.map((attempt) => ({ ...attempt, failed_operator: null, current })) }))
      const marks = runMarks(plan, { ...run, regions }, 2000)
      return plan.vertices.filter((vertex) => marks.nodes.get(vertex.id)?.state === 'FAILED').map((vertex) => vertex.index)
    }
    const operator = plan.operators.find((found) => found.id === plan.vertices[5]!.operators[0])!.name
    expect(died({ operator, phase: 'stage', since: 0 })).toEqual([5])
    expect(died(null)).toEqual([])
  })
  it('has the rows of a staged result on the edges that read it', () => {
    const marks = runMarks(plan, madeUpRun(plan, 'success', 1000, 2000), 2000)
    const staged = plan.edges.filter((edge) => edge.is_staged)
    expect(staged.map((edge) => marks.edges.get(edge.id))).toEqual(staged.map(() => '336,776 rows · 9.4 MB'))
  })
  it('calls an attempt and a try by their own numbers', () => {
    expect(attemptWords({ number: 0, try_number: 1 })).toBe('attempt 1')
    expect(attemptWords({ number: 1, try_number: 4 })).toBe('attempt 2 (try 4 in Airflow)')
    expect(attemptWords({ number: null, try_number: 1 })).toBe('try 1 in Airflow')
  })
  it('labels what a run waited for before its tasks began', () => {
    const { rows } = timeline(madeUpRun(plan, 'success', 1000, 2000), plan.regions.map((region) => region.id), 2000)
    expect(rows.map((row) => row.waits.map((wait) => wait.words))).toEqual([['scheduled 1 min 45 s', 'queued 25 s'], ['queued 25 s'], ['queued 25 s']])
    const [scheduled, queued] = rows[0]!.waits
    expect(scheduled?.from).toBe(0)
    expect(scheduled?.to).toBeCloseTo(queued!.from)
    expect(queued?.to).toBeCloseTo(rows[0]!.bars[0]!.from)
  })
  it('lets no wait of a retry overlap the attempt before it', () => {
    const run = madeUpRun(plan, 'failed', 1000, 2000)
    const regions = run.regions.map((region) => ({ ...region, attempts: region.attempts.map((attempt) => ({ ...attempt, queued: region.attempts[0]!.queued })) }))
    const [, row] = timeline({ ...run, regions }, plan.regions.map((region) => region.id), 2000).rows
    expect(row?.waits.at(-1)?.from).toBeCloseTo(row!.bars[0]!.to)
  })
  it('has the whole reason of a failure, once for all attempts that failed of it', () => {
    const attempts = madeUpRun(plan, 'failed', 1000, 2000).regions[1]!.attempts
    expect(failureNotes(attempts)).toEqual([
      { attempts, short: expect.stringContaining('the input has no column "<carrier>"') as string, rest: expect.stringMatching(/found: .*\n.*hint: .*\n.*declared at/) as string },
    ])
  })
  it('knows a region the run says nothing of as CREATED', () => {
    const run = { ...madeUpRun(plan, 'success', 1000, 2000), regions: [] }
    expect(runMarks(plan, run, 2000).nodes.get(plan.vertices[0]!.id)?.state).toBe('CREATED')
  })
  it('is a row a region and a bar an attempt on the timeline, all within it', () => {
    const { rows, ticks } = timeline(madeUpRun(plan, 'retried', 1000, 2000), plan.regions.map((region) => region.id), 2000)
    expect(rows.map((row) => row.bars.length)).toEqual([1, 2, 1])
    for (const bar of rows.flatMap((row) => row.bars)) {
      expect(bar.from).toBeGreaterThanOrEqual(0)
      expect(bar.to).toBeLessThanOrEqual(1)
      expect(bar.from).toBeLessThan(bar.to)
    }
    expect(ticks.length).toBeGreaterThan(2)
  })
  it('keeps the order of the plan on the timeline, and tells of a task the plan has not last', () => {
    const run = madeUpRun(plan, 'success', 1000, 2000)
    const names = plan.regions.map((region) => region.id)
    const shuffled = { ...run, regions: [{ ...run.regions[0]!, id: 'gone' }, ...run.regions.toReversed()] }
    expect(timeline(shuffled, names, 2000).rows.map((row) => row.region)).toEqual([...names, 'gone'])
  })
  it('says in one line why an attempt failed', () => {
    const reason = "pipeline 'p', operator 'halved': 5 of 9 rows violate 'even'\n  nothing of this task was published\n  declared at p.py:3"
    expect(shortReason({ reason, failed_operator: 'halved' })).toBe("operator 'halved': 5 of 9 rows violate 'even'")
    expect(shortReason({ reason: "pipeline 'p', operator 'x':\n  declared at p.py:3\n  no such file", failed_operator: 'x' })).toBe("operator 'x': no such file")
    expect(shortReason({ reason: 'the driver died', failed_operator: null })).toBe('the driver died')
  })
  it('says what was computed again without its id', () => {
    const line = `computed ${'ab'.repeat(16)}-0 of stations again (readings): 7 rows`
    expect(shortRecomputed(line)).toBe('computed the result of stations again (readings): 7 rows')
  })
  it('has a timeline before anything began', () => {
    const run = { ...madeUpRun(plan, 'success', 1000, 2000), started: null, ended: null, regions: [] }
    expect(timeline(run, [], 5)).toMatchObject({ start: 5, rows: [] })
  })
})

describe('what ran', () => {
  const run = madeUpRun(plan, 'success', 1000, 2000)
  const done = currentAttempt(run, 'task_0')
  const [first, , third, last] = plan.vertices.map((vertex) => vertex.id)
  const lastName = plan.vertices[3]!.name
  it('is beside a vertex: its tasks, stages and the exchanges before it', () => {
    expect(actualWords(done, plan, first!)).toEqual(['ran in 4 tasks, 8 splits · stage 0', 'stage 0: 4 tasks'])
    expect(actualWords(done, plan, third!)).toEqual([
      `ran in 4 tasks · stage 2, shared with ${lastName}`,
      'stage 2: 4 tasks · from exchanges 1,200 rows, 24 kB · spilled 7.0 MB',
      `exchange: hash by day from ${plan.vertices[1]!.name} · stage 1 → 2 · 1,200 rows, 24 kB · 200 partitions in 4 tasks, 200 joined · by task 1.0 kB / 2.0 kB / 19 kB (task 3)`,
    ])
  })
  it('says where Spark does not know it, and nothing before there is a report', () => {
    const actual = done!.actual!
    const merged = { ...done!, actual: { ...actual, vertices: actual.vertices.map((vertex) => ({ ...vertex, parallelism: null, stage_ids: [] })) } }
    expect(actualWords(merged, plan, last!)).toEqual(['where it ran is not known: Spark merged it into other operators'])
    expect(actualWords({ ...done!, actual: null }, plan, last!)).toEqual([])
    expect(actualWords(null, plan, last!)).toEqual([])
  })
})
