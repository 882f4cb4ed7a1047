/** A graph with its hulls folded into boxes, as a large plan is first shown. */

import { counted } from './words'
import type { GraphEdge, GraphModel } from './graph'

/** A graph of this many vertices is folded at first. */
export const FOLDED_FROM = 400

export function collapse(model: GraphModel): GraphModel {
  const groupOf = new Map(model.nodes.map((node) => [node.id, node.group]))
  const folded = new Set(groupOf.values())
  const between = new Map<string, GraphEdge[]>()
  for (const edge of model.edges) {
    const [source, target] = [groupOf.get(edge.source) ?? '', groupOf.get(edge.target) ?? '']
    if (source === target) continue
    const key = JSON.stringify([source, target])
    between.set(key, [...(between.get(key) ?? []), edge])
  }
  return {
    ...model,
    nodes: model.groups
      .filter((group) => folded.has(group.id))
      .map((group) => ({
        id: group.id,
        group: group.id,
        title: group.title,
        subtitle: group.subtitle,
        lines: [{ name: group.title, kind: '', role: null }],
        hidden: 0,
        roles: [],
      })),
    edges: [...between].map(([key, edges]): GraphEdge => {
      const [source = '', target = ''] = JSON.parse(key) as string[]
      const isStaged = edges.some((edge) => edge.kind === 'staged')
      return {
        id: `folded ${key}`,
        source,
        target,
        words: [counted(edges.length, isStaged ? 'staged edge' : 'edge')],
        reason: null,
        description: edges.map((edge) => edge.description).join('\n'),
        kind: isStaged ? 'staged' : (edges[0]?.kind ?? 'plain'),
        result: null,
      }
    }),
    groups: model.groups.map((group) => (folded.has(group.id) ? { ...group, isHull: false } : group)),
  }
}
