import { describe, expect, it } from 'vitest'
import { madeUpPlan } from '../dev/fixtures'
import { backEdges, buildCells, ranks } from '../src/layout/cells'
import type { Box, Direction } from '../src/layout/compound'
import { nearestInOrder } from '../src/layout/coordinates'
import { layered } from '../src/layout/layered'
import { linePath } from '../src/layout/lines'
import { crossings, orderLayers } from '../src/layout/ordering'
import { placeGraph } from '../src/model/graph'
import { frameId, jobGraph } from '../src/model/jobGraph'
import { streamGraph } from '../src/model/streamGraph'

const node = (id: string) => ({ id, main: 100, cross: 40 })
const edge = (source: string, target: string) => ({ id: `${source}${target}`, source, target, label: { main: 50, cross: 20 } })

function isApart(a: Box, b: Box): boolean {
  return a.x + a.width <= b.x + 0.01 || b.x + b.width <= a.x + 0.01 || a.y + a.height <= b.y + 0.01 || b.y + b.height <= a.y + 0.01
}

describe('the layers', () => {
  it('put a node after everything it reads, and a source beside its reader', () => {
    expect(ranks(['a', 'b', 'c', 'd'].map(node), [[0, 1], [1, 2], [3, 2]])).toEqual([0, 1, 2, 1])
  })
  it('turn an edge that closes a cycle', () => {
    expect(backEdges(3, [[0, 1], [1, 2], [2, 0]])).toEqual([false, false, true])
    expect(layered(['a', 'b'].map(node), [edge('a', 'b'), edge('b', 'a')]).edges.size).toBe(2)
  })
  it('survive an edge from a node to itself', () => {
    expect(layered([node('a')], [edge('a', 'a')]).nodes.get('a')).toEqual({ main: 0, cross: 0 })
  })
  it('are as many as long edges need, and the picture is found', () => {
    const nodes = Array.from({ length: 65 }, (_, at) => node(`${at}`))
    const chain = nodes.slice(1).map((_, at) => edge(`${at}`, `${at + 1}`))
    const long = Array.from({ length: 1100 }, (_, at) => ({ ...edge('0', '64'), id: `long ${at}`, label: null }))
    expect(Number.isFinite(layered(nodes, [...chain, ...long]).size.cross)).toBe(true)
  })
  it('keep ports at the ends', () => {
    const nodes = [{ ...node('a') }, { ...node('b') }, { id: 'out', main: 0, cross: 0, pin: 'last' as const }]
    expect(ranks(nodes, [[0, 1], [0, 2]])).toEqual([0, 1, 1])
  })
})

describe('the order within layers', () => {
  it('uncrosses what can be uncrossed', () => {
    const graph = buildCells(['a', 'b', 'c', 'd'].map(node), [edge('a', 'd'), edge('b', 'c')])
    graph.layers = orderLayers(graph)
    const place = new Float64Array(graph.cells.length)
    graph.layers.forEach((layer) => layer.forEach((cell, at) => (place[cell] = at)))
    expect(crossings(graph, graph.layers, place)).toBe(0)
  })
  it('counts crossings', () => {
    const graph = buildCells(['a', 'b', 'c', 'd'].map(node), [{ ...edge('a', 'd'), label: null }, { ...edge('b', 'c'), label: null }])
    const place = Float64Array.from([0, 1, 0, 1, 0, 1])
    expect(crossings(graph, graph.layers, place)).toBe(1)
  })
})

describe('places', () => {
  it('are the wished ones where there is room', () => {
    expect(nearestInOrder([0, 50, 200], [1, 1, 1], [10, 10])).toEqual([0, 50, 200])
  })
  it('are shared fairly where there is none', () => {
    expect(nearestInOrder([0, 0], [1, 1], [10])).toEqual([-5, 5])
    expect(nearestInOrder([0, 0], [3, 1], [8])).toEqual([-2, 6])
  })
})

describe.each(['right', 'down'] as const)('a plan laid out %s', (direction) => {
  const plan = madeUpPlan('p', 12, 8)
  const graph = placeGraph(jobGraph(plan), direction, true)
  const { nodes, groups, edges } = graph.placement

  it('has every box, apart from all others', () => {
    const boxes = [...nodes.values()]
    expect(boxes).toHaveLength(96)
    boxes.forEach((box, at) => boxes.slice(at + 1).forEach((other) => expect(isApart(box, other)).toBe(true)))
    const hulls = [...groups.values()]
    hulls.forEach((box, at) => hulls.slice(at + 1).forEach((other) => expect(isApart(box, other)).toBe(true)))
  })
  it('has each vertex within the hull of its region, and in no other', () => {
    for (const vertex of plan.vertices) {
      const box = nodes.get(vertex.id)
      for (const [id, hull] of groups) {
        const isWithin = box !== undefined && box.x >= hull.x && box.y >= hull.y && box.x + box.width <= hull.x + hull.width && box.y + box.height <= hull.y + hull.height
        expect(isWithin).toBe(id === vertex.region)
      }
    }
  })
  it('leads each edge from its source to its target, with the flow', () => {
    for (const drawn of graph.model.edges) {
      const points = edges.get(drawn.id)?.points ?? []
      const [from, to] = [nodes.get(drawn.source), nodes.get(drawn.target)]
      const main = points.map((point) => (direction === 'right' ? point.x : point.y))
      main.slice(1).forEach((value, at) => expect(value).toBeGreaterThanOrEqual((main[at] ?? 0) - 0.01))
      expect(main[0]).toBeCloseTo(direction === 'right' ? (from?.x ?? 0) + (from?.width ?? 0) : (from?.y ?? 0) + (from?.height ?? 0))
      expect(main.at(-1)).toBeCloseTo((direction === 'right' ? to?.x : to?.y) ?? -1)
    }
  })
  it('puts no label over a box', () => {
    for (const drawn of graph.model.edges) {
      const label = edges.get(drawn.id)?.label
      if (!label) continue
      for (const box of nodes.values()) expect(label.x > box.x && label.x < box.x + box.width && label.y > box.y && label.y < box.y + box.height).toBe(false)
    }
  })
})

it('gives the same places each time', () => {
  const text = () => JSON.stringify([...placeGraph(streamGraph(madeUpPlan('p', 4, 6)), 'right', false).placement.nodes])
  expect(text()).toBe(text())
})

it('lays out a thousand vertices in little time', () => {
  const model = jobGraph(madeUpPlan('p', 50, 20))
  const start = performance.now()
  placeGraph(model, 'right', false)
  expect(performance.now() - start).toBeLessThan(3000)
})

it('draws lines straight through layers and curved between them', () => {
  expect(linePath([{ direction: 'right', points: [{ x: 0, y: 0 }, { x: 10, y: 0 }, { x: 30, y: 20 }] }])).toBe('M0 0L10 0C20 0 20 20 30 20')
  expect(linePath([{ direction: 'down', points: [{ x: 0, y: 0 }, { x: 20, y: 30 }] }])).toBe('M0 0C0 15 20 15 20 30')
  expect(linePath([])).toBe('')
})

it('rounds the corner of a line that turns', () => {
  const corner = { x: 40, y: 0 }
  const path = linePath([{ direction: 'right', points: [{ x: 0, y: 0 }, corner] }, { direction: 'down', points: [corner, { x: 40, y: 50 }] }])
  expect(path).toBe('M0 0L32 0Q40 0 40 8L40 50')
})

const WAYS: [Direction, Direction][] = [['right', 'right'], ['right', 'down'], ['down', 'down'], ['down', 'right']]

describe.each(WAYS)('hulls whose content flows %s, laid out %s', (inner, outer) => {
  const plan = madeUpPlan('p', 9, 5)
  // Tasks of three regions each, so that frames are around hulls.
  const shared = { ...plan, regions: plan.regions.map((region, at) => ({ ...region, task: at < 6 ? `shared_${Math.floor(at / 3)}` : region.id })) }
  const graph = placeGraph(jobGraph(shared), inner, true, outer)
  const { nodes, groups, edges, size } = graph.placement

  it('has no two vertices over one another, and each within its region', () => {
    const boxes = [...nodes.values()]
    boxes.forEach((box, at) => boxes.slice(at + 1).forEach((other) => expect(isApart(box, other)).toBe(true)))
    for (const vertex of shared.vertices) expect(isWithin(nodes.get(vertex.id), groups.get(vertex.region))).toBe(true)
  })
  it('has each region within the frame of its task, and apart from the others', () => {
    for (const region of shared.regions) {
      const frame = groups.get(frameId(region.task))
      expect(frame === undefined).toBe(region.task === region.id)
      if (frame) expect(isWithin(groups.get(region.id), frame)).toBe(true)
    }
    const hulls = shared.regions.map((region) => groups.get(region.id)).filter((box) => box !== undefined)
    hulls.forEach((box, at) => hulls.slice(at + 1).forEach((other) => expect(isApart(box, other)).toBe(true)))
  })
  it('leads each line from its source to its target without a gap, within the picture', () => {
    for (const { id, source, target } of graph.model.edges) {
      const { runs, points } = edges.get(id) ?? { runs: [], points: [] }
      expect(touches(points[0], nodes.get(source))).toBe(true)
      expect(touches(points.at(-1), nodes.get(target))).toBe(true)
      runs.slice(1).forEach((run, at) => expect(run.points[0]).toEqual(runs[at]?.points.at(-1)))
      for (const { x, y } of points) expect(x >= -1 && y >= -1 && x <= size.width + 1 && y <= size.height + 1).toBe(true)
    }
  })
  it('leads no line through the box of another vertex', () => {
    for (const { id, source, target } of graph.model.edges) {
      for (const { x, y } of edges.get(id)?.points ?? []) {
        for (const [other, box] of nodes) {
          if (other === source || other === target) continue
          expect(x > box.x + 1 && x < box.x + box.width - 1 && y > box.y + 1 && y < box.y + box.height - 1).toBe(false)
        }
      }
    }
  })
  it('has every label apart from all vertices and all other labels', () => {
    const labels = [...graph.labels].flatMap(([id, { size: label }]) => {
      const at = edges.get(id)?.label
      return at ? [{ x: at.x - label.width / 2, y: at.y - label.height / 2, ...label }] : []
    })
    expect(labels.length).toBe(graph.labels.size)
    labels.forEach((label, at) => {
      for (const box of nodes.values()) expect(isApart(label, box)).toBe(true)
      labels.slice(at + 1).forEach((other) => expect(isApart(label, other)).toBe(true))
    })
  })
})

function isWithin(box: Box | undefined, around: Box | undefined): boolean {
  return !!box && !!around && box.x >= around.x && box.y >= around.y && box.x + box.width <= around.x + around.width + 0.01 && box.y + box.height <= around.y + around.height + 0.01
}

function touches(point: { x: number; y: number } | undefined, box: Box | undefined): boolean {
  return !!point && !!box && point.x >= box.x - 0.1 && point.y >= box.y - 0.1 && point.x <= box.x + box.width + 0.1 && point.y <= box.y + box.height + 0.1
}
