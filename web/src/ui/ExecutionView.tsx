import { memo, useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react'
import type { ExecutionState, Vertex, VertexRun, ViewPlan, ViewRun } from '../documents'
import { statePaint, type Theme } from '../export/palette'
import { actualWords } from '../model/actual'
import { connections, gridSize, subtaskAt } from '../model/executionGrid'
import { counted, parallelismWords, rowsWords, secondsWords } from '../model/words'
import { currentAttempt, vertexRun } from '../model/runState'
import { StateBadge } from './StateBadge'

interface Properties {
  plan: ViewPlan
  run: ViewRun | null
  theme: Theme
}

/** Flink's ExecutionGraph: each vertex with its subtasks, one cell each. It is rendered when the run changes, not with the time. */
export const ExecutionView = memo(function ExecutionView({ plan, run, theme }: Properties) {
  const vertices = useMemo(() => new Map(plan.vertices.map((vertex) => [vertex.id, { vertex, inputs: connections(plan, vertex.id) }])), [plan])
  const subtasks = plan.vertices.reduce((sum, vertex) => sum + (vertex.parallelism ?? 0), 0)
  const byDefault = plan.vertices.filter((vertex) => vertex.parallelism !== null && vertex.parallelism > 1 && !vertex.parallelism_configured).length
  const open = plan.vertices.filter((vertex) => vertex.parallelism === null).length
  return (
    <div className="page" tabIndex={0} role="region" aria-label="Execution graph">
      <p className="faint">
        {counted(subtasks, 'subtask')} of {plan.vertices.length} vertices{open > 0 && `, and those of ${open} that are decided at run time`}. The subtasks of a task share its attempt, so they share its state.{byDefault > 0 && ` ${byDefault} of the vertices have parallelism.default, which only plans: Spark decides how many tasks, splits and connections they have.`}
      </p>
      {plan.regions.map((region) => {
        const state = run?.regions.find((found) => found.id === region.id)?.state ?? 'CREATED'
        const attempt = run ? currentAttempt(run, region.id) : null
        return (
          <section key={region.id} className="region">
            <h2>
              {region.id} {run && <StateBadge paint={statePaint(state, theme)} />}
            </h2>
            {attempt?.remarks.map((remark, at) => (
              <p key={at} className="remark">
                {remark}
              </p>
            ))}
            {region.vertices.map((id) => {
              const { vertex, inputs = [] } = vertices.get(id) ?? {}
              const figures = vertexRun(attempt, id)
              return (
                vertex && (
                  <div key={id} className="strip">
                    <div className="strip-name">
                      <strong>{vertex.name}</strong>
                      <div className="faint">
                        {vertex.parallelism === null ? `parallelism ${parallelismWords(null)}` : `${counted(vertex.parallelism, 'subtask')}${vertex.parallelism_configured ? '' : ' (default)'}`}
                        {figures && figureWords(figures)}
                      </div>
                      <details>
                        <summary>inputs</summary>
                        {inputs.map((line, at) => (
                          <div key={at}>{line}</div>
                        ))}
                        {!inputs.length && 'It is a source.'}
                      </details>
                    </div>
                    <div className="strip-facts">
                      {vertex.parallelism !== null && <Strip vertex={vertex} parallelism={vertex.parallelism} state={state} theme={theme} hasRun={run !== null} />}
                      {actualWords(attempt, plan, id).map((line, at) => (
                        <div key={at}>{line}</div>
                      ))}
                    </div>
                  </div>
                )
              )
            })}
          </section>
        )
      })}
    </div>
  )
})

/** Spark's figures for a vertex. Spark counts and times only vertices that it runs separately. */
function figureWords({ rows, seconds }: VertexRun): string {
  const words = [...(rows === null ? [] : [`${rowsWords(rows)} rows`]), ...(seconds === null ? [] : [secondsWords(seconds)])]
  return words.map((word) => ` · ${word}`).join('')
}

const WIDTH = 720

interface StripProperties {
  vertex: Vertex
  parallelism: number
  state: ExecutionState
  theme: Theme
  hasRun: boolean
}

const Strip = memo(function Strip({ vertex, parallelism, state, theme, hasRun }: StripProperties) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [at, setAt] = useState<number | null>(null)
  const size = gridSize(parallelism, WIDTH)
  const [width, height] = [size.columns * size.cell, size.rows * size.cell]
  const badge = statePaint(state, theme)
  useEffect(() => {
    const context = canvas.current?.getContext('2d')
    if (!context) return
    context.setTransform(2, 0, 0, 2, 0, 0)
    context.clearRect(0, 0, width, height)
    const glyph = size.cell >= 18 && hasRun ? new Path2D(badge.glyph) : null
    for (let subtask = 0; subtask < parallelism; subtask++) {
      const [x, y] = [(subtask % size.columns) * size.cell, Math.floor(subtask / size.columns) * size.cell]
      context.fillStyle = badge.color
      context.fillRect(x + 0.5, y + 0.5, size.cell - 1.5, size.cell - 1.5)
      if (subtask === at) {
        context.strokeStyle = theme === 'dark' ? '#ffffff' : '#000000'
        context.lineWidth = 2
        context.strokeRect(x + 1, y + 1, size.cell - 2.5, size.cell - 2.5)
      }
      if (!glyph) continue
      context.save()
      context.translate(x + 2.75, y + 2.75)
      context.strokeStyle = theme === 'dark' ? '#161d2d' : '#ffffff'
      context.lineWidth = 1.6
      context.stroke(glyph)
      context.restore()
    }
  }, [parallelism, badge.color, badge.glyph, theme, at, hasRun, size.cell, size.columns, width, height])
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: size.columns, ArrowUp: -size.columns }[event.key]
    if (step === undefined) return
    event.preventDefault()
    setAt(Math.max(0, Math.min(parallelism - 1, (at ?? -step) + step)))
  }
  const onMove = (event: PointerEvent<HTMLCanvasElement>): void => {
    const box = event.currentTarget.getBoundingClientRect()
    setAt(subtaskAt(size, parallelism, event.clientX - box.left, event.clientY - box.top))
  }
  const words = at === null ? '' : `subtask ${at + 1} of ${parallelism}${hasRun ? `: ${state}` : ''}`
  return (
    <div className="strip-cells">
      <canvas
        ref={canvas}
        width={2 * width}
        height={2 * height}
        style={{ width, height }}
        role="slider"
        tabIndex={0}
        aria-label={`Subtasks of ${vertex.name}`}
        aria-valuemin={1}
        aria-valuemax={parallelism}
        aria-valuenow={(at ?? 0) + 1}
        aria-valuetext={words || `${counted(parallelism, 'subtask')}${hasRun ? `, ${state}` : ''}`}
        onKeyDown={onKeyDown}
        onPointerMove={onMove}
        onPointerLeave={() => setAt(null)}
        onBlur={() => setAt(null)}
      />
      <div className="faint">{words}</div>
    </div>
  )
})
