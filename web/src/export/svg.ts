/** A graph as an SVG file. It has presentation attributes only, so it needs no style sheet and looks the same everywhere. */

import type { PlacedGraph } from '../model/graph'
import type { Marks } from '../model/runState'
import { paint, type Paint, type Theme } from './palette'
import { edgeShapes, FULL, groupShapes, nodeShapes, titleShapes, type Shape } from './shapes'

const MARGIN = 24

export function escapeXml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
  // Characters that XML 1.0 does not allow would make the file invalid.
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd').replace(/[&<>"']/g, (letter) => entities[letter] ?? letter)
}

function painted({ fill, stroke, width, dash }: Paint): string {
  const line = stroke ? ` stroke="${stroke}" stroke-width="${width ?? 1}"` : ''
  return ` fill="${fill}"${line}${dash ? ` stroke-dasharray="${dash}"` : ''}`
}

function shapeText(shape: Shape): string {
  const look = painted(shape.paint)
  if (shape.kind === 'rect') {
    return `<rect x="${shape.x}" y="${shape.y}" width="${shape.width}" height="${shape.height}" rx="${shape.radius}"${look}/>`
  }
  if (shape.kind === 'path') return `<path d="${shape.d}"${look} stroke-linecap="round" stroke-linejoin="round"/>`
  const bold = shape.isBold ? ' font-weight="600"' : ''
  return `<text x="${shape.x}" y="${shape.y}" font-size="${shape.size}"${bold}${look}>${escapeXml(shape.text)}</text>`
}

export function allShapes(graph: PlacedGraph, marks: Marks | null, theme: Theme): Shape[] {
  const { model, placement } = graph
  const hulls = model.groups.flatMap((group) => {
    const box = placement.groups.get(group.id)
    return box ? [{ group, box, mark: marks?.groups.get(group.id) }] : []
  })
  const groups = hulls.flatMap(({ group, box, mark }) => groupShapes(group, box, mark, theme, FULL))
  const edges = model.edges.flatMap((edge) => edgeShapes(graph, edge, theme, FULL, marks?.edges.get(edge.id) ?? null))
  const titles = hulls.flatMap(({ group, box, mark }) => titleShapes(group, box, mark, theme, FULL))
  const nodes = model.nodes.flatMap((node) => {
    const box = placement.nodes.get(node.id)
    return box ? nodeShapes(node, box, marks?.nodes.get(node.id), theme, FULL, graph.hasFoot) : []
  })
  return [...groups, ...edges, ...titles, ...nodes]
}

export function svgText(graph: PlacedGraph, marks: Marks | null, theme: Theme): string {
  const width = Math.ceil(graph.placement.size.width + 2 * MARGIN)
  const height = Math.ceil(graph.placement.size.height + 2 * MARGIN)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${-MARGIN} ${-MARGIN} ${width} ${height}" font-family="system-ui, sans-serif">`,
    `<title>${escapeXml(graph.model.name)}</title>`,
    `<rect x="${-MARGIN}" y="${-MARGIN}" width="${width}" height="${height}"${painted(paint('page', theme))}/>`,
    ...allShapes(graph, marks, theme).map(shapeText),
    '</svg>',
    '',
  ].join('\n')
}
