import type { ReactNode } from 'react'
import { addressOf, writeAddress, type Address } from '../address'
import type { PipelineList, PipelineSummary } from '../documents'
import { apiPath } from '../api'
import { runStatePaint, type Theme } from '../export/palette'
import { counted, secondsWords, spanSeconds, timeWords } from '../model/words'
import { usePolled } from '../poll'
import { StateBadge } from './StateBadge'

const POLL_SECONDS = 10

/** All pipelines that the user may read, with their shape and the state of their last run. */
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
              <th scope="col">Last run</th>
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
                <td className="figure">{pipeline.operators}</td>
                <td className="figure">{pipeline.vertices}</td>
                <td className="figure">{pipeline.tasks}</td>
                <td className="figure">{pipeline.staged}</td>
                <td>
                  {pipeline.last_run ? (
                    <Opening address={addressOf(pipeline.dag_id, pipeline.last_run.run_id, pipeline.group || null)} onOpen={onOpen}>
                      <LastRun run={pipeline.last_run} theme={theme} />
                    </Opening>
                  ) : (
                    <span className="faint">{found.runs_are_shown ? 'never ran' : 'no permission'}</span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="faint">{counted(found.pipelines.length, 'pipeline')}</p>
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

function LastRun({ run, theme }: { run: NonNullable<PipelineSummary['last_run']>; theme: Theme }) {
  return (
    <>
      <StateBadge paint={runStatePaint(run.state, theme)} />
      <span className="faint">
        {' '}
        {timeWords(run.started)}
        {run.started !== null && run.ended !== null && ` · ${secondsWords(spanSeconds(run.started, run.ended))}`}
      </span>
    </>
  )
}
