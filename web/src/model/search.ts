/** Search over names: operators, vertices, tasks. */

import type { ViewPlan } from '../documents'
import type { GraphModel, Selection } from './graph'

export interface Found {
  words: string
  hint: string
  selection: Selection
}

const MAX_FOUND = 50

/** Return the items that match all words of the text, the best first: equal names, then names that begin with it, then the rest. */
export function search(plan: ViewPlan, kind: GraphModel['kind'], text: string): Found[] {
  const wanted = text.trim().toLowerCase()
  if (!wanted) return []
  const parts = wanted.split(/\s+/)
  const ranked: { rank: number; found: Found }[] = []
  for (const found of candidates(plan, kind)) {
    const name = found.words.toLowerCase()
    if (!parts.every((part) => name.includes(part))) continue
    ranked.push({ rank: name === wanted ? 0 : name.startsWith(wanted) ? 1 : 2, found })
  }
  return ranked.sort((a, b) => a.rank - b.rank).slice(0, MAX_FOUND).map((entry) => entry.found)
}

function candidates(plan: ViewPlan, kind: GraphModel['kind']): Found[] {
  const isJob = kind === 'job'
  const vertexOf = new Map(plan.vertices.map((vertex) => [vertex.id, vertex]))
  return [
    ...plan.operators.map((operator): Found => ({
      words: operator.name,
      hint: `${operator.kind} in ${vertexOf.get(operator.vertex)?.region ?? ''}`,
      selection: { kind: 'node', id: isJob ? operator.vertex : String(operator.id) },
    })),
    ...plan.vertices.map((vertex): Found => ({
      words: vertex.name,
      hint: 'vertex',
      selection: isJob ? { kind: 'node', id: vertex.id } : { kind: 'group', id: vertex.id },
    })),
    ...plan.regions.map((region): Found => ({
      words: region.id,
      hint: 'task',
      selection: isJob ? { kind: 'group', id: region.id } : { kind: 'group', id: region.vertices[0] ?? '' },
    })),
  ]
}
