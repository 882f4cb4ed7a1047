/** A graph as a Mermaid flowchart, in the form of `graph-compiler explain --format mermaid`. Staged edges are thick. */

import type { GraphModel } from '../model/graph'

const ENTITIES: Record<string, string> = { '#': '#35;', '"': '#quot;', '<': '#lt;', '>': '#gt;', '`': '#96;', '\n': '<br/>' }

function quoted(lines: readonly string[]): string {
  return `"${lines.join('\n').replace(/[#"<>`\n]/g, (letter) => ENTITIES[letter] ?? letter)}"`
}

export function mermaidText(graph: GraphModel): string {
  const ids = new Map(graph.nodes.map((node, number) => [node.id, `n${number}`]))
  const lines = ['---', `title: ${quoted([graph.name])}`, '---', 'flowchart TB']
  const numbers = new Map(graph.groups.map((group, number) => [group.id, number]))
  const write = (parent: string | null): void => {
    for (const group of graph.groups.filter((found) => found.parent === parent)) {
      const members = graph.nodes.filter((node) => node.group === group.id)
      if (!members.length && !graph.groups.some((found) => found.parent === group.id)) continue
      if (group.isHull) lines.push(`  subgraph g${numbers.get(group.id)}[${quoted([group.title])}]`)
      for (const node of members) lines.push(`    ${ids.get(node.id)}[${quoted([node.title, ...(node.subtitle ? [node.subtitle] : [])])}]`)
      write(group.id)
      if (group.isHull) lines.push('  end')
    }
  }
  write(null)
  for (const edge of graph.edges) {
    const arrow = edge.kind === 'staged' ? '==>' : edge.kind === 'virtual' ? '-.->' : '-->'
    const words = [...edge.words, ...(edge.reason ? [edge.reason] : [])]
    const label = words.length ? `|${quoted(words)}|` : ''
    lines.push(`  ${ids.get(edge.source)} ${arrow}${label} ${ids.get(edge.target)}`)
  }
  return `${lines.join('\n')}\n`
}
