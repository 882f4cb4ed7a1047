/** The picture as a person sees it: how large its text is on the screen, what is cut off, and whether colors can be told apart. */

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { madeUpOutcomes, madeUpPlan, madeUpRun } from '../dev/fixtures'
import type { ViewPlan } from '../src/documents'
import { paint, runStatePaint, statePaint, type PaintName, type Theme } from '../src/export/palette'
import { edgeShapes, FULL, levelOf, nodeShapes, titleShapes, type Shape } from '../src/export/shapes'
import type { Size } from '../src/layout/compound'
import { fittedScale, FULL_FROM, placeGraph, placeReadably, READABLE, TEXT, type PlacedGraph } from '../src/model/graph'
import { jobGraph } from '../src/model/jobGraph'
import { momentWords, othersWords, scheduleWords, successWords, usualDuration } from '../src/model/outcomes'
import { runMarks } from '../src/model/runState'
import { fitParts, textWidth, wrap } from '../src/model/textWidth'

const FRAMES: Size[] = [
  { width: 1408, height: 780 },
  { width: 992, height: 420 },
  { width: 358, height: 500 },
]
const PLANS = [madeUpPlan('one', 1, 3), madeUpPlan('two', 2, 6), madeUpPlan('five', 5, 3), madeUpPlan('sixty', 6, 10)]
const LEAST_TEXT = 11

function texts(graph: PlacedGraph, plan: ViewPlan, scale: number): Extract<Shape, { kind: 'text' }>[] {
  const level = levelOf(scale)
  const marks = runMarks(plan, madeUpRun(plan, 'failed', 0, 400), 400)
  const { model, placement } = graph
  const shapes = [
    ...model.nodes.flatMap((node) => nodeShapes(node, placement.nodes.get(node.id)!, marks.nodes.get(node.id), 'light', level, true)),
    ...model.groups.flatMap((group) => titleShapes(group, placement.groups.get(group.id)!, marks.groups.get(group.id), 'light', level)),
    ...model.edges.flatMap((edge) => edgeShapes(graph, edge, 'light', level, marks.edges.get(edge.id) ?? null)),
  ]
  return shapes.filter((shape) => shape.kind === 'text')
}

describe.each(PLANS.map((plan) => [plan.pipeline, plan] as const))('the plan %s', (_, plan) => {
  it.each(FRAMES)('has text of eleven pixels or more in a frame of $width by $height', (frame) => {
    const graph = placeReadably(jobGraph(plan), true, frame)
    const fitted = fittedScale(graph, frame)
    // What does not fit readably is shown in part, as large as the window allows.
    const scale = fitted >= READABLE ? fitted : FULL_FROM
    const found = texts(graph, plan, scale)
    expect(found.length).toBeGreaterThan(plan.vertices.length)
    for (const text of found) {
      expect(text.size * scale).toBeGreaterThanOrEqual(LEAST_TEXT)
      expect(text.text.trim()).not.toBe('')
    }
  })
})

it('has readable text at every scale down to that of blocks', () => {
  for (let scale = 0.37; scale <= 3; scale += 0.01) expect(TEXT.line * levelOf(scale).zoom * scale).toBeGreaterThanOrEqual(LEAST_TEXT)
})

/** Regions of vertices one after the other. */
function chain(regions: number, size: number): ViewPlan {
  const plan = madeUpPlan('chain', regions, size)
  const edges = plan.vertices.slice(1).map((vertex, at) => ({ ...plan.edges[0]!, is_staged: false, result: null, id: `c${at}`, source: plan.vertices[at]!.id, target: vertex.id }))
  return { ...plan, edges }
}

it('takes the way that shows the graph larger', () => {
  const model = jobGraph(chain(1, 8))
  expect(placeReadably(model, false, { width: 2400, height: 500 }).direction).toBe('right')
  expect(placeReadably(model, false, { width: 500, height: 1400 }).direction).toBe('down')
  expect(placeReadably(model, false, { width: 2400, height: 500 }, 'down').direction).toBe('down')
})

it('lays the hulls of a long graph out like lines of a text where that is larger', () => {
  const model = jobGraph(chain(4, 4))
  const [frame] = FRAMES
  const found = placeReadably(model, false, frame!)
  const scale = fittedScale(found, frame!)
  expect(scale).toBeGreaterThanOrEqual(READABLE)
  expect(found.direction).not.toBe(found.outer)
  for (const one of ['right', 'down'] as const) expect(scale * 1.05).toBeGreaterThanOrEqual(fittedScale(placeGraph(model, one, false, one, true), frame!))
})

describe('names', () => {
  it('are whole in every box down to the smallest readable scale', () => {
    const plan = madeUpPlan('names', 2, 4, '_of_a_rather_long_name')
    const graph = placeReadably(jobGraph(plan), true, FRAMES[0]!)
    for (const node of graph.model.nodes.filter((found) => found.lines.length === 1)) {
      for (const scale of [1, 0.8, 0.7, READABLE]) {
        const shapes = nodeShapes(node, graph.placement.nodes.get(node.id)!, undefined, 'light', levelOf(scale), false)
        const words = shapes.flatMap((shape) => (shape.kind === 'text' && shape.isBold ? [shape.text] : []))
        expect(words.join('')).toBe(node.lines[0]?.name)
      }
    }
  })
  it('are not repeated by a kind that says the same', () => {
    const plan = madeUpPlan('kinds', 1, 1)
    const named = (name: string, kind: string) => jobGraph({ ...plan, operators: plan.operators.map((operator) => ({ ...operator, name, kind })) }).nodes[0]?.lines[0]
    expect(named('Join', 'Join')).toEqual({ name: 'Join', kind: '', role: null })
    expect(named('With Columns', 'WithColumns')?.kind).toBe('')
    expect(named('with_weather', 'Join')?.kind).toBe('Join')
  })
  it('break after spaces, before underscores are tried, and keep an arrow at the end of its line', () => {
    const width = textWidth('with_carrier →', 12)
    expect(wrap('with_carrier → late_routes', width, 12, 3)).toEqual(['with_carrier →', 'late_routes'])
  })
  it('of figures are left out from the end', () => {
    expect(fitParts('FINISHED · 38 s · skew', textWidth('FINISHED · 38 s', 12), 12)).toBe('FINISHED · 38 s')
  })
})

it('has no label without text, and the reason of a cut once for each result', () => {
  const [first, second, ...rest] = madeUpPlan('cuts', 2, 3).edges
  const plan = madeUpPlan('cuts', 2, 3)
  const cut = { ...first!, is_staged: true, result: 'r-0', explanation: 'because you asked: "two reports read it"', words: 'forward' }
  const model = jobGraph({ ...plan, edges: [cut, { ...second!, ...cut, id: 'other', target: second!.target }, ...rest.map((edge) => ({ ...edge, is_staged: false, result_type: 'PIPELINED_BOUNDED' as const, result: null, words: 'forward' }))] })
  const graph = placeReadably(model, false, FRAMES[0]!)
  expect(graph.labels.get(cut.id)?.lines).toEqual(['staged', '“two reports read it”'])
  expect(graph.labels.get('other')?.lines).toEqual(['staged'])
  expect(graph.labels.size).toBe(2)
})

it('draws sources and sinks in forms of their own, and what never ran without a state', () => {
  const plan = madeUpPlan('ends', 2, 3)
  const model = jobGraph({ ...plan, operators: plan.operators.map((operator, at) => (at === plan.operators.length - 1 ? { ...operator, kind: 'Sink' } : operator)) })
  const graph = placeReadably(model, true, FRAMES[0]!)
  const marks = runMarks(plan, madeUpRun(plan, 'running', 0, 1), 1)
  const outlineOf = (id: string): Shape => nodeShapes(model.nodes.find((node) => node.id === id)!, graph.placement.nodes.get(id)!, marks.nodes.get(id), 'light', FULL, true)[0]!
  const [source, plain, sink] = [plan.vertices[0]!.id, plan.vertices[2]!.id, plan.vertices[5]!.id]
  expect(model.nodes.find((node) => node.id === source)?.roles).toEqual(['source'])
  expect(model.nodes.find((node) => node.id === sink)?.roles).toEqual(['sink'])
  expect(new Set([source, plain, sink].map((id) => outlineOf(id).paint.fill)).size).toBe(2)
  expect(outlineOf(sink).paint.dash).toBeDefined()
  expect(outlineOf(source).paint.dash).toBeUndefined()
})

function luminance(color: string): number {
  const parts = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * (parts[0] ?? 0) + 0.7152 * (parts[1] ?? 0) + 0.0722 * (parts[2] ?? 0)
}

function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

describe.each(['light', 'dark'] as Theme[])('the colors of the %s theme', (theme) => {
  const fills: PaintName[] = ['page', 'hull', 'region', 'node', 'end']
  it('have text that can be read on everything it is on', () => {
    const pairs: [PaintName, PaintName][] = [
      ...fills.map((fill): [PaintName, PaintName] => ['title', fill]),
      ...(['node', 'end'] as const).map((fill): [PaintName, PaintName] => ['subtitle', fill]),
      ...(['hull', 'region'] as const).flatMap((fill): [PaintName, PaintName][] => [['hullTitle', fill], ['hullSubtitle', fill]]),
      ['labelText', 'label'],
      ['labelText', 'labelVirtual'],
      ['labelTextStaged', 'labelStaged'],
    ]
    for (const [text, fill] of pairs) expect([text, fill, contrast(paint(text, theme).fill, paint(fill, theme).fill) >= 4.5]).toEqual([text, fill, true])
  })
  it('have states that can be read on boxes and on the page, and their glyphs on them', () => {
    for (const state of ['CREATED', 'SCHEDULED', 'DEPLOYING', 'RUNNING', 'FINISHED', 'CANCELED', 'FAILED'] as const) {
      const { color } = statePaint(state, theme)
      for (const fill of ['page', 'node', 'end'] as const) expect([state, fill, contrast(color, paint(fill, theme).fill) >= 4.5]).toEqual([state, fill, true])
      expect(contrast(color, paint('badgeGlyph', theme).stroke!)).toBeGreaterThanOrEqual(4.5)
    }
    expect(runStatePaint('queued', theme).color).toBe(statePaint('SCHEDULED', theme).color)
  })
})

describe.each([
  ['icon.svg', ['#dbe6f7', '#3f5d8e']],
  ['icon-dark.svg', ['#161d2d', '#3f5d8e']],
])('the icon %s', (file, backgrounds) => {
  it.each(backgrounds)('can be seen on %s, as Airflow shows it beside other pages and on its own', (background) => {
    const svg = readFileSync(new URL(`../public/assets/${file}`, import.meta.url), 'utf8')
    const box = /<rect x="1.5"[^>]*>/.exec(svg)?.[0] ?? ''
    const stroke = /stroke="(#\w{6})"/.exec(svg)?.[1] ?? ''
    const fill = /fill="(#\w{6})"/.exec(box)?.[1] ?? background
    expect(Math.max(contrast(stroke, background), contrast(fill, background))).toBeGreaterThanOrEqual(3)
  })
})

describe('the list', () => {
  const run = (state: string, seconds: number) => ({ run_id: state, state, run_type: 'scheduled', queued: 0, started: 10, ended: 10 + seconds })
  it('has success and the median duration of the runs that ended', () => {
    const runs = { ...madeUpOutcomes(3, 0), ended: [run('success', 60), run('failed', 1), run('success', 80), run('success', 3600)] }
    expect(successWords(runs)).toBe('3 of 4')
    expect(usualDuration(runs)).toBe('1 min 20 s')
    expect([successWords(madeUpOutcomes(3, 0)), usualDuration(madeUpOutcomes(3, 0))]).toEqual([null, null])
  })
  it('says since when a run waits, and what else does', () => {
    expect(momentWords({ ...run('queued', 0), started: null, ended: null })).toBe('since 1970-01-01 00:00:00 UTC')
    expect(momentWords({ ...run('queued', 0), queued: null, started: null, ended: null })).toBe('')
    expect(othersWords(madeUpOutcomes(1, 0))).toEqual(['29 queued'])
    expect(othersWords(madeUpOutcomes(2, 0))).toEqual(['2 more queued'])
    expect(othersWords(madeUpOutcomes(0, 0))).toEqual([])
  })
  it('says that there is no schedule, or that it is paused', () => {
    expect(['None', null, '@daily'].map((schedule) => scheduleWords({ schedule, is_paused: false }))).toEqual(['no schedule', 'no schedule', '@daily'])
    expect(scheduleWords({ schedule: '0 6 * * *', is_paused: true })).toBe('0 6 * * *, paused')
  })
})
