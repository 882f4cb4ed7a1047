/** Navigation with the arrow keys: along edges with the flow and against it, and to neighbors across it. */

import type { Direction } from '../layout/compound'
import type { PlacedGraph, Selection } from './graph'

export type ArrowKey = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown'

const ALONG: Record<Direction, Record<ArrowKey, 'next' | 'previous' | 'after' | 'before'>> = {
  right: { ArrowRight: 'next', ArrowLeft: 'previous', ArrowDown: 'after', ArrowUp: 'before' },
  down: { ArrowDown: 'next', ArrowUp: 'previous', ArrowRight: 'after', ArrowLeft: 'before' },
}

export function move(graph: PlacedGraph, selection: Selection | null, key: ArrowKey): Selection | null {
  const { nodes } = graph.placement
  const first = graph.model.nodes[0]
  if (!selection) return first ? { kind: 'node', id: first.id } : null
  const way = ALONG[graph.direction][key]
  if (selection.kind === 'edge') {
    const edge = graph.model.edges.find((found) => found.id === selection.id)
    if (edge && way === 'next') return { kind: 'node', id: edge.target }
    if (edge && way === 'previous') return { kind: 'node', id: edge.source }
    return selection
  }
  if (selection.kind === 'group') {
    const inFrame = graph.model.groups.filter((group) => group.parent === selection.id).map((group) => group.id)
    const member = graph.model.nodes.find((node) => node.group === selection.id || inFrame.includes(node.group))
    return member ? { kind: 'node', id: member.id } : selection
  }
  const place = middle(graph, selection.id)
  const candidates =
    way === 'next'
      ? graph.model.edges.filter((edge) => edge.source === selection.id).map((edge) => edge.target)
      : way === 'previous'
        ? graph.model.edges.filter((edge) => edge.target === selection.id).map((edge) => edge.source)
        : [...nodes.keys()].filter((id) => {
            const other = middle(graph, id)
            const isBeside = Math.abs(other.main - place.main) < 120
            return isBeside && (way === 'after' ? other.cross > place.cross + 1 : other.cross < place.cross - 1)
          })
  let best: string | null = null
  let nearest = Infinity
  for (const id of candidates) {
    const distance = Math.abs(middle(graph, id).cross - place.cross)
    if (distance < nearest) [best, nearest] = [id, distance]
  }
  return best === null ? selection : { kind: 'node', id: best }
}

/** Cycle through the edges of a node. */
export function nextEdge(graph: PlacedGraph, selection: Selection | null): Selection | null {
  if (!selection || selection.kind === 'group') return selection
  const current = graph.model.edges.find((edge) => selection.kind === 'edge' && edge.id === selection.id)
  const node = current ? current.source : selection.id
  const edges = graph.model.edges.filter((edge) => edge.source === node || (!current && edge.target === node))
  const at = edges.findIndex((edge) => edge.id === current?.id)
  const next = edges[(at + 1) % Math.max(1, edges.length)]
  return next ? { kind: 'edge', id: next.id } : selection
}

function middle(graph: PlacedGraph, id: string): { main: number; cross: number } {
  const box = graph.placement.nodes.get(id)
  if (!box) return { main: 0, cross: 0 }
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
  return graph.direction === 'right' ? { main: x, cross: y } : { main: y, cross: x }
}
