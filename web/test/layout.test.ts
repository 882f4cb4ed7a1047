import { describe, expect, it } from 'vitest'
import { madeUpPlan } from '../dev/fixtures'
import { backEdges, buildCells, ranks } from '../src/layout/cells'
import { linePath, type Box } from '../src/layout/compound'
import { nearestInOrder } from '../src/layout/coordinates'
import { layered } from '../src/layout/layered'
import { crossings, orderLayers } from '../src/layout/ordering'
import { placeGraph } from '../src/model/graph'
import { jobGraph } from '../src/model/jobGraph'
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
  expect(linePath([{ x: 0, y: 0 }, { x: 10, y: 0 }, { x: 30, y: 20 }], 'right')).toBe('M0 0L10 0C20 0 20 20 30 20')
  expect(linePath([{ x: 0, y: 0 }, { x: 20, y: 30 }], 'down')).toBe('M0 0C0 15 20 15 20 30')
  expect(linePath([], 'right')).toBe('')
})
