import { memo, useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react'
import { paint, type Theme } from '../export/palette'
import { edgeShapes, groupShapes, nodeShapes, titleShapes, type Level } from '../export/shapes'
import type { Box, PlacedGroup } from '../layout/compound'
import { linePath } from '../layout/lines'
import type { GraphEdge, GraphGroup, GraphNode, PlacedGraph, Selection } from '../model/graph'
import { move, nextEdge, type ArrowKey } from '../model/navigate'
import type { Mark, Marks } from '../model/runState'
import { Minimap } from './Minimap'
import { Shapes } from './Shapes'
import { overlaps, useViewport, type Viewport } from './useViewport'

interface Properties {
  graph: PlacedGraph
  marks: Marks | null
  theme: Theme
  label: string
  selection: Selection | null
  onSelect: (selection: Selection | null) => void
  /** What is above the graph and moves it. */
  toolbar: (viewport: Viewport) => ReactNode
}

/** A graph that can be panned, zoomed, and navigated with keys. */
export function GraphView({ graph, marks, theme, label, selection, onSelect, toolbar }: Properties) {
  const frame = useRef<HTMLDivElement>(null)
  const drawing = useRef<SVGGElement>(null)
  // Where it is opened: at what has failed, at what is running, or at its beginning; it stays there while a run goes on.
  const start = useMemo(() => startBox(graph, marks), [graph]) // eslint-disable-line react-hooks/exhaustive-deps
  const selected = useMemo(() => selection && selectedBox(graph, selection), [graph, selection])
  const viewport = useViewport(frame, drawing, graph.placement.size, start, selected)
  const [hover, setHover] = useState<{ words: string; x: number; y: number } | null>(null)
  const { show } = viewport

  useEffect(() => {
    if (selected) show(selected)
  }, [selected, show])
  useEffect(() => {
    if (performance.getEntriesByName('graph-drawn').length === 0) {
      performance.mark('graph-drawn')
    }
  }, [])

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const act: Record<string, () => void> = {
      '+': () => viewport.zoom(1.3),
      '=': () => viewport.zoom(1.3),
      '-': () => viewport.zoom(1 / 1.3),
      '0': () => viewport.fit(),
      e: () => onSelect(nextEdge(graph, selection)),
      Escape: () => onSelect(null),
    }
    const found = event.key.startsWith('Arrow') ? () => onSelect(move(graph, selection, event.key as ArrowKey)) : act[event.key]
    if (!found) return
    event.preventDefault()
    found()
  }
  const target = (event: PointerEvent | React.MouseEvent): Selection | null => {
    const element = (event.target as Element).closest<SVGElement>('[data-kind]')
    const { kind, id } = element?.dataset ?? {}
    return kind && id !== undefined ? ({ kind, id } as Selection) : null
  }
  const onHover = (event: PointerEvent<HTMLDivElement>): void => {
    const found = event.buttons ? null : target(event)
    const isClear = viewport.drawn?.level.form === 'full'
    const words = found && event.pointerType !== 'touch' ? hoverWords(graph, found, isClear) : null
    const box = event.currentTarget.getBoundingClientRect()
    setHover((before) => (words ? { words, x: event.clientX - box.left, y: event.clientY - box.top } : before && null))
  }
  return (
    <>
    {toolbar(viewport)}
    <div className="graph">
      {/* The graph is one widget that is navigated with the arrow keys; the live region and the panel describe what is selected. */}
      <div
        className="graph-frame"
        ref={frame}
        role="application"
        aria-label={`${label}. Arrow keys follow the edges, e goes through the edges of a vertex, plus and minus zoom, 0 fits, slash searches.`}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onPointerMove={onHover}
        onPointerLeave={() => setHover(null)}
        onClick={(event) => onSelect(target(event))}
      >
        <svg className="graph-drawing" aria-hidden="true">
          <g ref={drawing}>{viewport.drawn && <Content graph={graph} marks={marks} theme={theme} {...viewport.drawn} selection={selection} />}</g>
        </svg>
        {hover && (
          <div className="tooltip" role="tooltip" style={tooltipPlace(hover, frame.current)}>
            {hover.words}
          </div>
        )}
      </div>
      <Minimap graph={graph} marks={marks} theme={theme} viewport={viewport} />
      <div className="unseen" role="status">
        {selection ? announcement(graph, marks, selection) : ''}
      </div>
    </div>
    </>
  )
}

interface ContentProperties {
  graph: PlacedGraph
  marks: Marks | null
  theme: Theme
  level: Level
  area: Box
  selection: Selection | null
}

const Content = memo(function Content({ graph, marks, theme, level, area, selection }: ContentProperties) {
  const { model, placement } = graph
  const bounds = useMemo(() => edgeBounds(graph), [graph])
  const near = selection?.kind === 'node' ? selection.id : null
  return (
    <>
      {model.groups.map((group) => {
        const box = placement.groups.get(group.id)
        if (!box || !group.isHull || !overlaps(box, area)) return null
        return <GroupItem key={group.id} group={group} box={box} mark={marks?.groups.get(group.id)} theme={theme} level={level} />
      })}
      {selection?.kind === 'edge' && <SelectionItem graph={graph} selection={selection} theme={theme} />}
      {model.edges.map((edge) => {
        const box = bounds.get(edge.id)
        if (!box || !overlaps(box, area)) return null
        return <EdgeItem key={edge.id} graph={graph} edge={edge} theme={theme} level={level} rows={marks?.edges.get(edge.id) ?? null} isNear={near === edge.source || near === edge.target} />
      })}
      {model.groups.map((group) => {
        const box = placement.groups.get(group.id)
        if (!box || !group.isHull || !overlaps(box, area)) return null
        return <TitleItem key={group.id} group={group} box={box} mark={marks?.groups.get(group.id)} theme={theme} level={level} />
      })}
      {model.nodes.map((node) => {
        const box = placement.nodes.get(node.id)
        if (!box || !overlaps(box, area)) return null
        return (
          <NodeItem key={node.id} node={node} box={box} mark={marks?.nodes.get(node.id)} theme={theme} level={level} hasFoot={graph.hasFoot} />
        )
      })}
      {selection && selection.kind !== 'edge' && <SelectionItem graph={graph} selection={selection} theme={theme} />}
    </>
  )
})

interface ItemProperties {
  box: Box
  mark: Mark | undefined
  theme: Theme
  level: Level
}

const NodeItem = memo(function NodeItem({ node, box, mark, theme, level, hasFoot }: ItemProperties & { node: GraphNode; hasFoot: boolean }) {
  const shapes = useMemo(() => nodeShapes(node, box, mark, theme, level, hasFoot), [node, box, mark, theme, level, hasFoot])
  return (
    <g data-kind="node" data-id={node.id}>
      <Shapes shapes={shapes} />
    </g>
  )
})

const GroupItem = memo(function GroupItem({ group, box, mark, theme, level }: ItemProperties & { group: GraphGroup }) {
  const shapes = useMemo(() => groupShapes(group, box, mark, theme, level), [group, box, mark, theme, level])
  return (
    <g data-kind="group" data-id={group.id}>
      <Shapes shapes={shapes} />
    </g>
  )
})

const TitleItem = memo(function TitleItem({ group, box, mark, theme, level }: Omit<ItemProperties, 'box'> & { group: GraphGroup; box: PlacedGroup }) {
  const shapes = useMemo(() => titleShapes(group, box, mark, theme, level), [group, box, mark, theme, level])
  return (
    <g data-kind="group" data-id={group.id} data-part="title">
      <Shapes shapes={shapes} />
    </g>
  )
})

interface EdgeProperties {
  graph: PlacedGraph
  edge: GraphEdge
  theme: Theme
  level: Level
  rows: string | null
  isNear: boolean
}

const EdgeItem = memo(function EdgeItem({ graph, edge, theme, level, rows, isNear }: EdgeProperties) {
  const shapes = useMemo(() => edgeShapes(graph, edge, theme, level, rows), [graph, edge, theme, level, rows])
  const path = linePath(graph.placement.edges.get(edge.id)?.runs ?? [])
  return (
    <g data-kind="edge" data-id={edge.id} data-edge={edge.kind}>
      {isNear && <path d={path} fill="none" stroke={paint('selected', theme).stroke} strokeWidth={8} opacity={0.3} />}
      {level.form !== 'blocks' && <path d={path} fill="none" stroke="transparent" strokeWidth={14} />}
      <Shapes shapes={shapes} />
    </g>
  )
})

function SelectionItem({ graph, selection, theme }: { graph: PlacedGraph; selection: Selection; theme: Theme }) {
  const { stroke, width } = paint('selected', theme)
  if (selection.kind === 'edge') {
    const path = linePath(graph.placement.edges.get(selection.id)?.runs ?? [])
    return <path className="selection" d={path} fill="none" stroke={stroke} strokeWidth={9} opacity={0.45} />
  }
  const box = selectedBox(graph, selection)
  if (!box) return null
  return (
    <rect
      className="selection"
      x={box.x - 4}
      y={box.y - 4}
      width={box.width + 8}
      height={box.height + 8}
      rx={selection.kind === 'node' ? 9 : 15}
      fill="none"
      stroke={stroke}
      strokeWidth={width}
      vectorEffect="non-scaling-stroke"
    />
  )
}

function selectedBox(graph: PlacedGraph, selection: Selection): Box | null {
  if (selection.kind === 'node') return graph.placement.nodes.get(selection.id) ?? null
  if (selection.kind === 'group') return graph.placement.groups.get(selection.id) ?? null
  const placed = graph.placement.edges.get(selection.id)
  const at = placed?.label ?? placed?.points[0]
  return at ? { x: at.x - 60, y: at.y - 20, width: 120, height: 40 } : null
}

const NOWHERE: Box = { x: 0, y: 0, width: 0, height: 0 }

/** The first vertex that failed, else the first that is running, else the first. */
function startBox(graph: PlacedGraph, marks: Marks | null): Box {
  const { nodes } = graph.placement
  const first = (state: string): string | undefined => graph.model.nodes.find((node) => marks?.nodes.get(node.id)?.state === state)?.id
  const found = first('FAILED') ?? first('RUNNING')
  if (found !== undefined) return nodes.get(found) ?? NOWHERE
  const along = (box: Box): number => (graph.outer === 'right' ? box.x : box.y)
  return [...nodes.values()].reduce((nearest, box) => (along(box) < along(nearest) ? box : nearest), nodes.values().next().value ?? NOWHERE)
}

/** What an edge or a vertex is, as far as its picture has no room for it. */
function hoverWords(graph: PlacedGraph, { kind, id }: Selection, isClear: boolean): string | null {
  if (kind === 'edge') return graph.model.edges.find((edge) => edge.id === id)?.description ?? null
  const node = kind === 'node' ? graph.model.nodes.find((found) => found.id === id) : undefined
  return node && (!isClear || node.hidden) ? node.title : null
}

const TOOLTIP = { width: 360, height: 90 }

/** Beside the pointer, within the frame. */
function tooltipPlace({ x, y }: { x: number; y: number }, frame: HTMLElement | null): { left: number; top: number; maxWidth: number } {
  const [width, height] = [frame?.clientWidth ?? 0, frame?.clientHeight ?? 0]
  const maxWidth = Math.min(TOOLTIP.width, width - 16)
  const left = Math.max(8, Math.min(x + 14, width - maxWidth - 8))
  return { left, top: y + 14 + TOOLTIP.height > height ? Math.max(4, y - TOOLTIP.height) : y + 14, maxWidth }
}

function edgeBounds(graph: PlacedGraph): Map<string, Box> {
  const bounds = new Map<string, Box>()
  for (const [id, { points }] of graph.placement.edges) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity]
    for (const { x, y } of points) {
      left = Math.min(left, x)
      top = Math.min(top, y)
      right = Math.max(right, x)
      bottom = Math.max(bottom, y)
    }
    const label = graph.labels.get(id)?.size
    const [wide, high] = label ? [label.width / 2, label.height / 2] : [5, 5]
    bounds.set(id, { x: left - wide, y: top - high, width: right - left + 2 * wide, height: bottom - top + 2 * high })
  }
  return bounds
}

function announcement(graph: PlacedGraph, marks: Marks | null, selection: Selection): string {
  const { model } = graph
  if (selection.kind === 'edge') {
    const edge = model.edges.find((found) => found.id === selection.id)
    const name = (id: string | undefined): string => model.nodes.find((node) => node.id === id)?.title ?? ''
    return edge ? `edge from ${name(edge.source)} to ${name(edge.target)}: ${edge.description}` : ''
  }
  if (selection.kind === 'group') return `${model.groups.find((group) => group.id === selection.id)?.title ?? ''} ${marks?.groups.get(selection.id)?.foot ?? ''}`
  const node = model.nodes.find((found) => found.id === selection.id)
  return node ? [node.title, node.subtitle, marks?.nodes.get(node.id)?.foot].filter((words) => words).join(', ') : ''
}
