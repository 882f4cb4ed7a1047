import { useEffect, useMemo, useState, type KeyboardEvent } from 'react'
import type { Address, Tab } from '../address'
import { apiPath } from '../api'
import type { RunList, RunSummary, ViewPlan, ViewRun } from '../documents'
import type { Theme } from '../export/palette'
import type { Selection } from '../model/graph'
import { taskCount } from '../model/jobGraph'
import { runMarks } from '../model/runState'
import { counted } from '../model/words'
import { namedOutside } from '../surroundings'
import { serverNow } from '../clock'
import { useDocument, usePolled } from '../poll'
import { ExecutionView } from './ExecutionView'
import { GraphPane } from './GraphPane'
import { RunView } from './RunView'
import { VersionsView } from './VersionsView'

const POLL_SECONDS = 2
const NAMES: Record<Tab, string> = { job: 'Job graph', stream: 'Stream graph', execution: 'Execution graph', run: 'Run', versions: 'Versions' }

function hasEnded(run: ViewRun): boolean {
  return run.ended !== null && run.state !== 'running' && run.state !== 'queued'
}

/** A Dag, as documents of the server. */
export function ServedPipeline({ address, theme, onGo }: { address: Address; theme: Theme; onGo: (address: Address) => void }) {
  const dagId = address.dagId ?? ''
  const [later, setLater] = useState<{ runId: string; version: number } | null>(null)
  const version = later?.runId === address.runId ? later?.version : undefined
  const plan = useDocument<ViewPlan>(apiPath(['dags', dagId, 'plan'], version ? { version: String(version) } : { run_id: address.runId }))
  const run = usePolled<ViewRun>(address.runId ? apiPath(['dags', dagId, 'run'], { run_id: address.runId }) : null, POLL_SECONDS, hasEnded)
  // A task that is cleared gets the current version of the Dag, so the plan of the run changes.
  const isOfAnother = Boolean(plan.document && run.document?.plan_id && run.document.plan_id !== plan.document.plan_id)
  const { run_id: runId, dag_version: dagVersion } = run.document ?? {}
  useEffect(() => {
    if (isOfAnother && runId && dagVersion) setLater({ runId, version: dagVersion })
  }, [isOfAnother, runId, dagVersion])
  const runs = useDocument<RunList>(apiPath(['dags', dagId, 'runs']))
  const isWaiting = address.runId !== null && run.document === null && run.error === null
  return (
    <>
      {(plan.error ?? run.error) && <p role="alert">{plan.error ?? run.error}</p>}
      {!plan.error && (!plan.document || isWaiting) && <p role="status">Loading the plan …</p>}
      {plan.document && !isWaiting && <PipelineView plan={plan.document} run={run.document} runs={runs.document?.runs ?? []} address={address} theme={theme} onGo={onGo} />}
    </>
  )
}

interface Properties {
  plan: ViewPlan
  run: ViewRun | null
  /** Null if there is no server. */
  runs: RunSummary[] | null
  address: Address
  theme: Theme
  onGo: (address: Address) => void
}

export function PipelineView({ plan, run, runs, address, theme, onGo }: Properties) {
  const [selection, setSelection] = useState<Selection | null>(() => firstSelection(plan, address))
  const now = useNow(run)
  const outside = useMemo(() => namedOutside(), [])
  const isNamed = outside !== null
  const marks = useMemo(() => (run ? runMarks(plan, run, now) : null), [plan, run, now])
  const tabs: Tab[] = ['job', 'stream', 'execution', ...(run ? (['run'] as const) : []), ...(runs ? (['versions'] as const) : [])]
  const tab = tabs.includes(address.tab) ? address.tab : 'job'
  const go = (next: Tab): void => {
    if ((next === 'stream') !== (tab === 'stream')) setSelection(null)
    onGo({ ...address, tab: next })
  }
  const onTabKey = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length] ?? 'job'
    go(next)
    document.getElementById(`tab-${next}`)?.focus()
  }
  const pane = { plan, run, marks, theme, selection, onSelect: setSelection }
  return (
    <>
      <header>
        {!isNamed && runs && (
          <a
            href="."
            aria-label="All pipelines"
            onClick={(event) => {
              event.preventDefault()
              onGo({ dagId: null, runId: null, regionId: null, tab: 'job' })
            }}
          >
            Pipelines
          </a>
        )}
        <h1 className={isNamed ? 'unseen' : undefined}>{plan.pipeline}</h1>
        <div role="tablist" aria-label="Views" className="tabs" onKeyDown={onTabKey}>
          {tabs.map((name) => (
            <button
              key={name}
              id={`tab-${name}`}
              type="button"
              role="tab"
              aria-selected={name === tab}
              aria-controls="view"
              tabIndex={name === tab ? 0 : -1}
              onClick={() => go(name)}
            >
              {NAMES[name]}
            </button>
          ))}
        </div>
        <span className="faint shape">{shapeWords(plan)}</span>
        {runs && outside !== 'run' && (
          <label>
            Run{' '}
            <select
              value={address.runId ?? ''}
              onChange={(event) => onGo({ ...address, runId: event.target.value || null, tab: event.target.value ? 'run' : tab === 'run' ? 'job' : tab })}
            >
              <option value="">none: the latest plan</option>
              {address.runId && !runs.some((found) => found.run_id === address.runId) && <option value={address.runId}>{address.runId}</option>}
              {runs.map((found) => (
                <option key={found.run_id} value={found.run_id}>
                  {`${found.state} · ${found.run_id}`}
                </option>
              ))}
            </select>
          </label>
        )}
      </header>
      <main>
        <div id="view" role="tabpanel" aria-labelledby={`tab-${tab}`}>
          {tab === 'job' && <GraphPane key="job" kind="job" {...pane} />}
          {tab === 'stream' && <GraphPane key="stream" kind="stream" {...pane} marks={null} />}
          {tab === 'execution' && <ExecutionView plan={plan} run={run} theme={theme} />}
          {tab === 'run' && run && marks && <RunView plan={plan} run={run} marks={marks} now={now} theme={theme} selection={selection} onSelect={setSelection} />}
          {tab === 'versions' && <VersionsView dagId={address.dagId ?? ''} theme={theme} />}
        </div>
      </main>
    </>
  )
}

function shapeWords(plan: ViewPlan): string {
  const vertices = plan.vertices.length === 1 ? '1 vertex' : `${plan.vertices.length} vertices`
  const staged = plan.edges.filter((edge) => edge.is_staged).length
  return `${counted(plan.operators.length, 'operator')} · ${vertices} · ${counted(taskCount(plan), 'task')} · ${staged} staged`
}

function firstSelection(plan: ViewPlan, address: Address): Selection | null {
  const isKnown = address.tab !== 'stream' && plan.regions.some((region) => region.id === address.regionId)
  return isKnown && address.regionId ? { kind: 'group', id: address.regionId } : null
}

/** The current time, updated while the run is running. */
function useNow(run: ViewRun | null): number {
  const [now, setNow] = useState(() => serverNow())
  const isRunning = run !== null && !hasEnded(run)
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => {
      if (!document.hidden) setNow(serverNow())
    }, POLL_SECONDS * 1000)
    return () => clearInterval(timer)
  }, [isRunning])
  return now
}
