import type { ReactNode } from 'react'
import { addressOf, writeAddress, type Address } from '../address'
import type { DagOutcomes, PipelineList, PipelineSummary } from '../documents'
import { apiPath } from '../api'
import { runStatePaint, type Theme } from '../export/palette'
import { momentWords, othersWords, scheduleWords, successWords, usualDuration } from '../model/outcomes'
import { counted } from '../model/words'
import { usePolled } from '../poll'
import { StateBadge } from './StateBadge'

const POLL_SECONDS = 10

/** All pipelines that the user may read, with their runs, schedule and shape. */
export function Pipelines({ theme, onOpen }: { theme: Theme; onOpen: (address: Address) => void }) {
  const { document: found, error } = usePolled<PipelineList>(apiPath(['pipelines']), POLL_SECONDS, () => false)
  if (error && !found) return <p role="alert">{error}</p>
  if (!found) return <p role="status">Loading the pipelines …</p>
  if (!found.pipelines.length) return <p>There is no compiled pipeline that you have permission to read.</p>
  return (
    <main className="page">
      <h1>Pipelines</h1>
      <div className="scroll" tabIndex={0} role="region" aria-label="Pipelines">
        <table className="list">
          <thead>
            <tr>
              <th scope="col">Pipeline</th>
              <th scope="col">Last run</th>
              <th scope="col">Succeeded</th>
              <th scope="col" className="figure">
                Duration
              </th>
              <th scope="col">Schedule</th>
              <th scope="col" className="figure">
                Operators
              </th>
              <th scope="col" className="figure">
                Vertices
              </th>
              <th scope="col" className="figure">
                Tasks
              </th>
              <th scope="col" className="figure">
                Staged
              </th>
            </tr>
          </thead>
          <tbody>
            {found.pipelines.map((pipeline) => (
              <tr key={`${pipeline.dag_id} ${pipeline.group}`}>
                <th scope="row">
                  <Opening address={addressOf(pipeline.dag_id, null, pipeline.group || null)} onOpen={onOpen}>
                    {pipeline.pipeline}
                  </Opening>
                  {placeWords(pipeline) && <div className="faint">{placeWords(pipeline)}</div>}
                  {pipeline.description && <div className="faint">{pipeline.description}</div>}
                  {pipeline.tags.map((tag) => (
                    <span key={tag} className="tag">
                      {tag}
                    </span>
                  ))}
                </th>
                {pipeline.runs ? (
                  <RunCells pipeline={pipeline} runs={pipeline.runs} theme={theme} onOpen={onOpen} />
                ) : (
                  <td colSpan={3} className="faint">
                    no permission to read runs
                  </td>
                )}
                <td>{scheduleWords(pipeline)}</td>
                <td className="figure">{pipeline.operators}</td>
                <td className="figure">{pipeline.vertices}</td>
                <td className="figure">{pipeline.tasks}</td>
                <td className="figure">{pipeline.staged}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="faint">
        {counted(found.pipelines.length, 'pipeline')}. Success is that of the newest runs that have ended, at most ten; the duration is the median of those that succeeded.
      </p>
    </main>
  )
}

/** Where a pipeline is, unless it has a Dag of its own. */
function placeWords({ dag_id: dagId, group, pipeline }: PipelineSummary): string | null {
  if (!group) return dagId === pipeline ? null : `in ${dagId}`
  return group === pipeline ? `in ${dagId}` : `in ${dagId}, group ${group}`
}

function Opening({ address, onOpen, children }: { address: Address; onOpen: (address: Address) => void; children: ReactNode }) {
  return (
    <a
      href={writeAddress(address)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey) return
        event.preventDefault()
        onOpen(address)
      }}
    >
      {children}
    </a>
  )
}

interface RunProperties {
  pipeline: PipelineSummary
  runs: DagOutcomes
  theme: Theme
  onOpen: (address: Address) => void
}

function RunCells({ pipeline, runs, theme, onOpen }: RunProperties) {
  const { last_run: last } = runs
  const others = othersWords(runs)
  return (
    <>
      <td>
        {last ? (
          <>
            <Opening address={addressOf(pipeline.dag_id, last.run_id, pipeline.group || null)} onOpen={onOpen}>
              <StateBadge paint={runStatePaint(last.state, theme)} />
            </Opening>
            {last.run_type !== 'scheduled' && <span className="tag">{last.run_type}</span>}
            <div className="faint">{[momentWords(last), ...others].filter((words) => words).join(' · ')}</div>
          </>
        ) : (
          <span className="faint">never ran</span>
        )}
      </td>
      <td>
        {runs.ended.length > 0 && (
          <>
            {successWords(runs)}{' '}
            <span className="outcomes" aria-hidden="true">
              {runs.ended.toReversed().map((run) => (
                <span key={run.run_id} className={`outcome ${run.state}`} title={`${run.run_id}: ${run.state}`} />
              ))}
            </span>
          </>
        )}
      </td>
      <td className="figure">{usualDuration(runs) ?? ''}</td>
    </>
  )
}
