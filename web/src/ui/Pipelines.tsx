import type { PipelineSummary } from '../documents'
import { useDocument, apiPath } from '../api'
import { runStatePaint, type Theme } from '../export/palette'
import { counted, secondsWords, timeWords } from '../model/words'
import { StateBadge } from './StateBadge'

export function Pipelines({ theme, onOpen }: { theme: Theme; onOpen: (dagId: string) => void }) {
  const { document: found, error } = useDocument<{ pipelines: PipelineSummary[] }>(apiPath(['pipelines']))
  if (error) return <p role="alert">{error}</p>
  if (!found) return <p role="status">Asking for the pipelines …</p>
  if (!found.pipelines.length) return <p>There is no compiled pipeline here that you may read.</p>
  return (
    <main className="page">
      <h1>Pipelines</h1>
      <div className="scroll" tabIndex={0} role="region" aria-label="Pipelines">
        <table className="list">
          <thead>
            <tr>
              <th scope="col">Pipeline</th>
              <th scope="col">Operators</th>
              <th scope="col">Vertices</th>
              <th scope="col">Tasks</th>
              <th scope="col">Staged</th>
              <th scope="col">Last run</th>
            </tr>
          </thead>
          <tbody>
            {found.pipelines.map((pipeline) => (
              <tr key={pipeline.dag_id}>
                <th scope="row">
                  <a
                    href={`?dag_id=${encodeURIComponent(pipeline.dag_id)}`}
                    onClick={(event) => {
                      if (event.ctrlKey || event.metaKey) return
                      event.preventDefault()
                      onOpen(pipeline.dag_id)
                    }}
                  >
                    {pipeline.dag_id}
                  </a>
                  {pipeline.description && <div className="faint">{pipeline.description}</div>}
                  {pipeline.tags.map((tag) => (
                    <span key={tag} className="tag">
                      {tag}
                    </span>
                  ))}
                </th>
                <td>{pipeline.operators}</td>
                <td>{pipeline.vertices}</td>
                <td>{pipeline.tasks}</td>
                <td>{pipeline.staged}</td>
                <td>{pipeline.last_run ? <LastRun run={pipeline.last_run} theme={theme} /> : <span className="faint">never ran</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="faint">{counted(found.pipelines.length, 'pipeline')}</p>
    </main>
  )
}

function LastRun({ run, theme }: { run: NonNullable<PipelineSummary['last_run']>; theme: Theme }) {
  return (
    <>
      <StateBadge paint={runStatePaint(run.state, theme)} />
      <div className="faint">
        {timeWords(run.started)}
        {run.started !== null && run.ended !== null && ` · ${secondsWords(run.ended - run.started)}`}
      </div>
    </>
  )
}
