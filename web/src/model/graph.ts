/** The model of a drawn graph, for each of Flink's graphs. */

import type { Placement, Direction } from '../layout/compound'
import { compound } from '../layout/compound'
import { textWidth } from './textWidth'

export interface GraphNode {
  id: string
  group: string
  title: string
  subtitle: string
  lines: string[]
  /** Number of lines that were left out because there was no space. */
  hidden: number
}

export interface GraphEdge {
  id: string
  source: string
  target: string
  /** The label of the edge: at most two lines of text, none for chained operators. */
  words: string[]
  /** The description on hover and for screen readers. */
  description: string
  kind: 'plain' | 'staged' | 'blocking' | 'chained' | 'virtual'
  /** The result that it reads: edges of the same result leave the hull as one line. */
  result: string | null
}

export interface GraphGroup {
  id: string
  title: string
  subtitle: string
  isHull: boolean
}

export interface GraphModel {
  kind: 'job' | 'stream'
  name: string
  nodes: GraphNode[]
  edges: GraphEdge[]
  groups: GraphGroup[]
}

export type Selection = { kind: 'node' | 'edge' | 'group'; id: string }

export interface PlacedGraph {
  model: GraphModel
  placement: Placement
  direction: Direction
  hasFoot: boolean
}

export const NODE_WIDTH = 220
export const LINE_HEIGHT = 16
export const MOST_LINES = 5
const HEAD = 42
const FOOT = 18
const MOST_LABEL = 140
const TRIED_UP_TO = 400

export function nodeHeight(node: GraphNode, hasFoot: boolean): number {
  const lines = node.lines.length + (node.hidden ? 1 : 0)
  return HEAD + lines * LINE_HEIGHT + (lines ? 8 : 0) + (hasFoot ? FOOT : 0)
}

/** The size of a label: its longest line, with a glyph before it if the edge is staged. */
export function labelSize(edge: GraphEdge): { width: number; height: number } | null {
  if (!edge.words.length) return null
  const text = Math.max(...edge.words.map((words, line) => textWidth(words, 11, line === 0)))
  return { width: Math.min(MOST_LABEL, text + 14 + (edge.kind === 'staged' ? 20 : 0)), height: 6 + 14 * edge.words.length }
}

export function placeGraph(model: GraphModel, direction: Direction, hasFoot: boolean): PlacedGraph {
  const placement = compound(
    {
      nodes: model.nodes.map((node) => ({ id: node.id, group: node.group, width: NODE_WIDTH, height: nodeHeight(node, hasFoot) })),
      edges: model.edges.map((edge) => ({
        id: edge.id,
        source: edge.source,
        target: edge.target,
        port: `${edge.source}|${edge.result ?? edge.id}`,
        label: labelSize(edge),
      })),
      groups: model.groups.map((group) => ({
        id: group.id,
        hull: group.isHull,
        title: Math.min(420, textWidth(group.title, 13, true) + textWidth(group.subtitle, 11) + 30),
      })),
    },
    direction,
  )
  return { model, placement, direction, hasFoot }
}

/** Return the placement that shows the graph larger in a window. With more than a few hundred boxes, only the default is tried. */
export function placeReadably(model: GraphModel, hasFoot: boolean, window: { width: number; height: number }): PlacedGraph {
  const right = placeGraph(model, 'right', hasFoot)
  if (model.nodes.length > TRIED_UP_TO) return right
  const down = placeGraph(model, 'down', hasFoot)
  const scale = ({ placement: { size } }: PlacedGraph): number => Math.min(1, window.width / size.width, window.height / size.height)
  return scale(down) > 1.15 * scale(right) ? down : right
}
