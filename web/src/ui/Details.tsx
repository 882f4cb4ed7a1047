import type { ReactNode } from 'react'
import type { JobEdge, Operator, ViewPlan, ViewRun } from '../documents'
import type { Theme } from '../export/palette'
import type { Selection } from '../model/graph'
import { failureWords, frameId, parallelismNote } from '../model/jobGraph'
import { currentAttempt, vertexRun } from '../model/runState'
import { counted, rowsWords, secondsWords } from '../model/words'
import { Attempts } from './Attempts'
import { Facts } from './Facts'
import { ResultDetails } from './ResultDetails'

interface Properties {
  plan: ViewPlan
  run: ViewRun | null
  kind: 'job' | 'stream'
  selection: Selection
  theme: Theme
  onSelect: (selection: Selection | null) => void
}

/** The details of the selected element. */
export function Details(properties: Properties) {
  const { plan, kind, selection, onSelect } = properties
  return (
    <aside className="details" aria-label="Details">
      <button type="button" className="close" aria-label="Close the details" onClick={() => onSelect(null)}>
        ✕
      </button>
      {kind === 'job' && selection.kind === 'node' && <VertexDetails {...properties} id={selection.id} />}
      {kind === 'job' && selection.kind === 'group' && <RegionDetails {...properties} id={selection.id} />}
      {kind === 'job' && selection.kind === 'edge' && <EdgeDetails {...properties} id={selection.id} />}
      {kind === 'stream' && selection.kind === 'node' && (
        <>
          <h2>{plan.operators.find((operator) => String(operator.id) === selection.id)?.name}</h2>
          <OperatorList operators={plan.operators.filter((operator) => String(operator.id) === selection.id)} plan={plan} />
        </>
      )}
      {kind === 'stream' && selection.kind === 'group' && <VertexDetails {...properties} id={selection.id} />}
      {kind === 'stream' && selection.kind === 'edge' && <StreamEdgeDetails plan={plan} id={selection.id} />}
    </aside>
  )
}

function OperatorList({ operators, plan }: { operators: Operator[]; plan: ViewPlan }) {
  return (
    <ul className="operators">
      {operators.map((operator) => (
        <li key={operator.id}>
          <strong>{operator.name}</strong> <span className="kind">{operator.kind}</span>
          {operator.expensive && <span className="tag">expensive</span>}
          {operator.details.map((detail, at) => (
            <div key={at} className="detail">
              {detail}
            </div>
          ))}
          <div className="faint">
            {operator.declared_at && <>declared at {operator.declared_at} · </>}
            {operator.uid ? `uid ${operator.uid}` : operator.operator_id && `id ${operator.operator_id.slice(0, 8)}…`}
          </div>
          {plan.stream_edges
            .filter((edge) => edge.target === operator.id && edge.why_not_chained)
            .map((edge) => (
              <div key={edge.id} className="faint">
                not chained to {plan.operators.find((found) => found.id === edge.source)?.name}: {edge.why_not_chained}
              </div>
            ))}
        </li>
      ))}
    </ul>
  )
}

function VertexDetails({ plan, run, id, theme, onSelect, kind }: Properties & { id: string }) {
  const vertex = plan.vertices.find((found) => found.id === id)
  if (!vertex) return null
  const figures = run ? vertexRun(currentAttempt(run, vertex.region), id) : null
  const regionRun = run?.regions.find((region) => region.id === vertex.region)
  return (
    <>
      <h2>{vertex.name}</h2>
      <Facts
        facts={[
          ['vertex', `${vertex.index + 1} · ${vertex.id.slice(0, 8)}…`],
          [
            'task',
            kind === 'job' ? (
              <button key="task" type="button" className="link" onClick={() => onSelect({ kind: 'group', id: vertex.region })}>
                {vertex.region}
              </button>
            ) : (
              vertex.region
            ),
          ],
          ['parallelism', `${parallelismNote(vertex)}${vertex.max_parallelism === null ? '' : `, at most ${vertex.max_parallelism}`}`],
          ['slot sharing group', vertex.slot_sharing_group],
          ['rows', figures ? rowsWords(figures.rows) : null],
          ['duration', figures ? secondsWords(figures.seconds) : null],
        ]}
      />
      {figures && figures.operators.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">operator</th>
              <th scope="col">rows in</th>
              <th scope="col">rows out</th>
            </tr>
          </thead>
          <tbody>
            {figures.operators.map((operator, at) => (
              <tr key={at}>
                <th scope="row">{operator.name}</th>
                <td>{rowsWords(operator.rows_in)}</td>
                <td>
                  {rowsWords(operator.rows_out)}
                  {operator.may_be_too_high && <span title="also counts tasks that ran twice: it may be too high"> ≤</span>}
                  {operator.side_rows.map(([tag, rows]) => (
                    <div key={tag} className="faint">
                      {tag}: {rowsWords(rows)}
                    </div>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <h3>{counted(vertex.operators.length, 'operator')}</h3>
      <OperatorList operators={vertex.operators.flatMap((op) => plan.operators.filter((found) => found.id === op))} plan={plan} />
      {plan.edges.some((edge) => edge.source === id || edge.target === id) && <h3>Edges</h3>}
      <ul className="edges">
        {plan.edges
          .filter((edge) => edge.source === id || edge.target === id)
          .map((edge) => (
            <li key={edge.id}>
              <EdgeLine plan={plan} edge={edge} vertex={id} onSelect={kind === 'job' ? onSelect : null} />
            </li>
          ))}
      </ul>
      <h3>Failure</h3>
      <Sentences lines={failureWords(plan, vertex.region)} />
      {regionRun && <Attempts region={regionRun} theme={theme} />}
    </>
  )
}

function EdgeLine({ plan, edge, vertex, onSelect }: { plan: ViewPlan; edge: JobEdge; vertex: string; onSelect: ((selection: Selection) => void) | null }) {
  const isOut = edge.source === vertex
  const other = plan.vertices.find((found) => found.id === (isOut ? edge.target : edge.source))?.name ?? ''
  const words = `${isOut ? '→' : '←'} ${other} · ${edge.words} · ${edge.is_staged ? 'staged' : edge.result_type}`
  if (!onSelect) return words
  return (
    <button type="button" className="link" onClick={() => onSelect({ kind: 'edge', id: edge.id })}>
      {words}
    </button>
  )
}

function Sentences({ lines }: { lines: string[] }) {
  return lines.map((line, at) => <p key={at}>{line}</p>)
}

function RegionDetails({ plan, run, id, theme, onSelect }: Properties & { id: string }) {
  const region = plan.regions.find((found) => found.id === id)
  const regionRun = run?.regions.find((found) => found.id === id)
  const shared = plan.regions.filter((found) => frameId(found.task) === id)
  if (!region && shared.length) {
    return (
      <>
        <h2>{shared[0]?.task}</h2>
        <p className="faint">One Airflow task, which runs {counted(shared.length, 'region')} in one Spark application. Each region commits and fails by itself.</p>
        <h3>Regions</h3>
        <ul className="edges">
          {shared.map((one) => (
            <li key={one.id}>
              <button type="button" className="link" onClick={() => onSelect({ kind: 'group', id: one.id })}>
                {one.id}
              </button>
            </li>
          ))}
        </ul>
      </>
    )
  }
  if (!region) {
    return (
      <>
        <h2>{id}</h2>
        <p className="faint">The plan shown here does not have this task: it belongs to another version of the Dag.</p>
        {regionRun && <Attempts region={regionRun} theme={theme} />}
      </>
    )
  }
  return (
    <>
      <h2>{region.id}</h2>
      <p className="faint">A deployment region: it runs, commits and fails as a whole.</p>
      <Facts
        facts={[
          ['Airflow task', region.task],
          ['slot sharing group', region.slot_sharing_group],
          ['resources', region.resources.join(', ')],
          ['vertices', region.vertices.length],
        ]}
      />
      <h3>Failure</h3>
      <Sentences lines={failureWords(plan, id)} />
      {regionRun && <Attempts region={regionRun} theme={theme} />}
      <h3>Vertices</h3>
      <ul className="edges">
        {region.vertices.map((vertex) => (
          <li key={vertex}>
            <button type="button" className="link" onClick={() => onSelect({ kind: 'node', id: vertex })}>
              {plan.vertices.find((found) => found.id === vertex)?.name}
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}

function EdgeDetails({ plan, run, id, onSelect }: Properties & { id: string }) {
  const edge = plan.edges.find((found) => found.id === id)
  if (!edge) return null
  const vertex = (found: string): ReactNode => (
    <button type="button" className="link" onClick={() => onSelect({ kind: 'node', id: found })}>
      {plan.vertices.find((candidate) => candidate.id === found)?.name}
    </button>
  )
  const why = plan.stream_edges.find((found) => found.source === edge.from_operator && found.target === edge.to_operator)?.why_not_chained
  return (
    <>
      <h2>{edge.is_staged ? 'Staged edge' : 'Edge'}</h2>
      <Facts
        facts={[
          ['from', vertex(edge.source)],
          ['to', vertex(edge.target)],
          ['ship strategy', edge.words === edge.ship_strategy.toLowerCase() ? edge.ship_strategy : `${edge.ship_strategy}: ${edge.words}`],
          ['result type', edge.result_type],
          ['distribution', edge.distribution],
          ['side output', edge.output_tag],
          ['why staged', edge.is_staged ? `${edge.reason ?? ''}${edge.explanation ? `: ${edge.explanation}` : ''}` : null],
          ['why in memory', edge.is_staged ? null : edge.explanation],
          ['why not chained', why],
          ['result', edge.result],
        ]}
      />
      {run?.has_documents && edge.result && <ResultDetails run={run} result={edge.result} />}
    </>
  )
}

function StreamEdgeDetails({ plan, id }: { plan: ViewPlan; id: string }) {
  const edge = plan.stream_edges.find((found) => found.id === id)
  if (!edge) return null
  const name = (operator: number): string => plan.operators.find((found) => found.id === operator)?.name ?? ''
  return (
    <>
      <h2>Stream edge</h2>
      <Facts
        facts={[
          ['from', name(edge.source)],
          ['to', name(edge.target)],
          ['partitioner', edge.partitioner],
          ['side output', edge.output_tag],
          ['chained', edge.is_chained ? 'yes' : 'no'],
          ['why not', edge.why_not_chained],
        ]}
      />
    </>
  )
}
