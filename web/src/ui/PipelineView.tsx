import { useEffect, useMemo, useState, type KeyboardEvent } from 'react'
import { addressOf, withGroup, type Address, type Tab } from '../address'
import { apiPath } from '../api'
import type { PlacedPipelines, RunList, RunSummary, ViewPlan, ViewRun } from '../documents'
import type { Theme } from '../export/palette'
import type { Selection } from '../model/graph'
import { parallelismNote, taskCount } from '../model/jobGraph'
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

/** A Dag, as documents of the server: which pipelines it has decides what is asked for. */
export function ServedPipeline({ address, theme, onGo }: { address: Address; theme: Theme; onGo: (address: Address) => void }) {
  const placed = useDocument<PlacedPipelines>(apiPath(['dags', address.dagId ?? '', 'pipelines'], { run_id: address.runId }))
  if (placed.error) return <p role="alert">{placed.error}</p>
  if (!placed.document) return <p role="status">Loading the plan …</p>
  const groups = placed.document.pipelines.map((one) => one.group)
  const found = withGroup(address, groups)
  return <PlacedPipelineView key={found.group} groups={groups} address={found} theme={theme} onGo={onGo} />
}

function PlacedPipelineView({ groups, address, theme, onGo }: { groups: string[]; address: Address; theme: Theme; onGo: (address: Address) => void }) {
  const dagId = address.dagId ?? ''
  const { group } = address
  const [later, setLater] = useState<{ runId: string; version: number } | null>(null)
  const version = later?.runId === address.runId ? later?.version : undefined
  const plan = useDocument<ViewPlan>(apiPath(['dags', dagId, 'plan'], version ? { group, version: String(version) } : { group, run_id: address.runId }))
  const ofRun = { group, map_index: address.mapIndex, run_id: address.runId }
  const run = usePolled<ViewRun>(address.runId ? apiPath(['dags', dagId, 'run'], ofRun) : null, POLL_SECONDS, hasEnded)
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
      {plan.document && !isWaiting && <PipelineView plan={plan.document} run={run.document} runs={runs.document?.runs ?? []} groups={groups} address={address} theme={theme} onGo={onGo} />}
    </>
  )
}

interface Properties {
  plan: ViewPlan
  run: ViewRun | null
  /** Null if there is no server. */
  runs: RunSummary[] | null
  /** The task groups of the Dag's pipelines. */
  groups?: string[]
  address: Address
  theme: Theme
  onGo: (address: Address) => void
}

export function PipelineView({ plan, run, runs, groups = [], address, theme, onGo }: Properties) {
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
              onGo(addressOf(null))
            }}
          >
            Pipelines
          </a>
        )}
        <h1 className={isNamed && plan.pipeline === address.dagId ? 'unseen' : undefined}>{plan.pipeline}</h1>
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
        <div className="choices">
          {groups.length > 1 && (
            <label>
              Group{' '}
              <select
                value={address.group ?? ''}
                onChange={(event) => onGo({ ...address, group: event.target.value, mapIndex: null, regionId: null })}
              >
                {groups.map((group) => (
                  <option key={group} value={group}>
                    {group || 'none'}
                  </option>
                ))}
              </select>
            </label>
          )}
          {run && run.map_index !== null && (
            <label>
              Instance{' '}
              <select value={run.map_index} onChange={(event) => onGo({ ...address, mapIndex: event.target.value })}>
                {run.map_indexes.map((index) => (
                  <option key={index} value={index}>
                    {index}
                  </option>
                ))}
              </select>
            </label>
          )}
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
        </div>
      </header>
      <main>
        <div id="view" role="tabpanel" aria-labelledby={`tab-${tab}`}>
          {tab === 'job' && <GraphPane key="job" kind="job" {...pane} />}
          {tab === 'stream' && <GraphPane key="stream" kind="stream" {...pane} marks={null} />}
          {tab === 'execution' && <ExecutionView plan={plan} run={run} theme={theme} />}
          {tab === 'run' && run && marks && <RunView plan={plan} run={run} marks={marks} now={now} theme={theme} selection={selection} onSelect={setSelection} />}
          {tab === 'versions' && <VersionsView dagId={address.dagId ?? ''} group={address.group} theme={theme} />}
        </div>
      </main>
    </>
  )
}

function shapeWords(plan: ViewPlan): string {
  const vertices = plan.vertices.length === 1 ? '1 vertex' : `${plan.vertices.length} vertices`
  const staged = plan.edges.filter((edge) => edge.is_staged).length
  const common = plan.vertices.find((vertex) => !vertex.parallelism_configured && vertex.parallelism !== null && vertex.parallelism > 1)
  const byDefault = common ? ` · parallelism ${parallelismNote(common)}` : ''
  return `${counted(plan.operators.length, 'operator')} · ${vertices} · ${counted(taskCount(plan), 'task')} · ${staged} staged${byDefault}`
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
