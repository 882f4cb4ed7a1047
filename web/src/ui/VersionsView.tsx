import { useMemo, useState } from 'react'
import type { FactChange, PlanDiff, PlanVersion, SinkColumn, VersionList, ViewPlan } from '../documents'
import { apiPath } from '../api'
import type { Theme } from '../export/palette'
import type { Selection } from '../model/graph'
import { changeMarks } from '../model/runState'
import { timeWords } from '../model/words'
import { useDocument } from '../poll'
import { GraphPane } from './GraphPane'

/** The differences between two versions of a Dag, as a list and in the job graph. */
export function VersionsView({ dagId, group, theme }: { dagId: string; group: string | null; theme: Theme }) {
  const { document: found, error } = useDocument<VersionList>(apiPath(['dags', dagId, 'versions'], { group }))
  const [chosen, setChosen] = useState<{ old: number; now: number } | null>(null)
  if (error) return <p role="alert">{error}</p>
  if (!found) return <p role="status">Loading the versions …</p>
  const [latest, before] = found.versions
  if (!latest || !before) return <p className="page">There is only one version: nothing to compare.</p>
  const { old, now } = chosen ?? { old: before.number, now: latest.number }
  const choice = (label: string, value: number, choose: (version: number) => void) => (
    <label>
      {label}{' '}
      <select value={value} onChange={(event) => choose(Number(event.target.value))}>
        {found.versions.map((version) => (
          <option key={version.number} value={version.number}>
            {`version ${version.number}${created(version)}`}
          </option>
        ))}
      </select>
    </label>
  )
  return (
    <div className="versions">
      <div className="toolbar">
        {choice('Before', old, (version) => setChosen({ old: version, now }))}
        {choice('Now', now, (version) => setChosen({ old, now: version }))}
      </div>
      <Comparison key={`${old}-${now}`} dagId={dagId} group={group} old={old} now={now} theme={theme} />
    </div>
  )
}

function created(version: PlanVersion): string {
  return ` · ${timeWords(version.created)}`
}

function Comparison({ dagId, group, old, now, theme }: { dagId: string; group: string | null; old: number; now: number; theme: Theme }) {
  const [side, setSide] = useState<'old' | 'new'>('new')
  const [selection, setSelection] = useState<Selection | null>(null)
  const diff = useDocument<PlanDiff>(apiPath(['dags', dagId, 'compare'], { group, old: String(old), new: String(now) }))
  const plan = useDocument<ViewPlan>(apiPath(['dags', dagId, 'plan'], { group, version: String(side === 'new' ? now : old) }))
  const marks = useMemo(
    () => (plan.document && diff.document ? changeMarks(plan.document, diff.document, side) : null),
    [plan.document, diff.document, side],
  )
  const problem = diff.error ?? plan.error
  if (problem) return <p role="alert">{problem}</p>
  if (!diff.document) return <p role="status">Comparing …</p>
  return (
    <div className="split">
      <section className="changes" aria-label="What differs" tabIndex={0}>
        <p>
          <strong>{diff.document.summary}</strong>
        </p>
        <Changes diff={diff.document} />
      </section>
      <div className="run">
        <div className="toolbar" role="group" aria-label="Which version is drawn">
          <button type="button" aria-pressed={side === 'old'} onClick={() => setSide('old')}>
            version {old}
          </button>
          <button type="button" aria-pressed={side === 'new'} onClick={() => setSide('new')}>
            version {now}
          </button>
        </div>
        {plan.document && (
          <GraphPane plan={plan.document} run={null} kind="job" marks={marks} theme={theme} selection={selection} onSelect={setSelection} />
        )}
      </div>
    </div>
  )
}

function Changes({ diff }: { diff: PlanDiff }) {
  return (
    <>
      <Facts title="Session" facts={diff.session} />
      <Facts title="Parameters and schedule" facts={diff.run} />
      {diff.operators.length > 0 && <h2>Operators</h2>}
      <ul>
        {diff.operators.map((change, at) => (
          <li key={at} className={`change ${change.kind.toLowerCase()}`}>
            <span className="kind">{change.kind}</span>{' '}
            {change.name_before && change.name && change.name_before !== change.name ? `${change.name_before} → ${change.name}` : (change.name ?? change.name_before)}
            <FactList facts={change.facts} />
            {change.columns.map((column, at) => (
              <div key={at} className="detail">
                {columnWords(column)}
              </div>
            ))}
          </li>
        ))}
      </ul>
      {diff.results.length > 0 && <h2>Staged results</h2>}
      <ul>
        {diff.results.map((change, at) => (
          <li key={at}>
            <span className="kind">{change.kind}</span> {change.name}
          </li>
        ))}
      </ul>
      {diff.tasks.length > 0 && <h2>Tasks</h2>}
      <ul>
        {diff.tasks.map((change) => (
          <li key={change.task} className={`change ${change.kind.toLowerCase()}`}>
            <span className="kind">{change.kind}</span> {change.task}
            {change.reasons.map((reason, at) => (
              <div key={at} className="detail">
                {reason}
              </div>
            ))}
          </li>
        ))}
      </ul>
    </>
  )
}

function Facts({ title, facts }: { title: string; facts: FactChange[] }) {
  if (!facts.length) return null
  return (
    <>
      <h2>{title}</h2>
      <FactList facts={facts} />
    </>
  )
}

function columnWords({ before, now, then }: SinkColumn): string {
  if (before === null) return `gains ${now}: ${then}`
  return now === null ? `loses ${before}: ${then}` : `gets ${now}, before ${before}: ${then}`
}

function FactList({ facts }: { facts: FactChange[] }) {
  return facts.map((fact) => (
    <div key={fact.fact} className="detail">
      {fact.fact}: {fact.before ?? 'not set'} → {fact.now ?? 'not set'}
    </div>
  ))
}
