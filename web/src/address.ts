/** What a URL shows: a Dag, a run of it, a view. */

export const TABS = ['job', 'stream', 'execution', 'run', 'versions'] as const
export type Tab = (typeof TABS)[number]

export interface Address {
  dagId: string | null
  runId: string | null
  /** The path of the pipeline's task group: null for the pipeline's own Dag, or for the first pipeline of a Dag. */
  group: string | null
  /** The instance of a mapped task group: null for the first. */
  mapIndex: string | null
  /** A region that is selected at first, or a task, whose id begins with its group. */
  regionId: string | null
  tab: Tab
}

/** The names in a URL's query. */
export const NAMES = ['dag_id', 'run_id', 'group', 'map_index', 'region', 'tab'] as const

/** Read a query; names that it does not have are taken from `otherwise`. */
export function readAddress(search: string, otherwise = ''): Address {
  const queries = [new URLSearchParams(search), new URLSearchParams(otherwise)]
  // Airflow leaves a placeholder unchanged if it has no value for it.
  const value = (name: (typeof NAMES)[number]): string | null =>
    queries.map((query) => query.get(name)).find((found) => found && !/^\{[A-Z_]+\}$/.test(found)) ?? null
  const runId = value('run_id')
  const tab = TABS.find((known) => known === value('tab'))
  const index = value('map_index')
  return {
    dagId: value('dag_id'),
    runId,
    group: value('group'),
    mapIndex: index !== null && /^\d+$/.test(index) ? index : null,
    regionId: value('region'),
    tab: tab ?? (runId ? 'run' : 'job'),
  }
}

/** The beginning of what `Address` has for a Dag, or for all pipelines if there is none. */
export function addressOf(dagId: string | null, runId: string | null = null, group: string | null = null): Address {
  return { dagId, runId, group, mapIndex: null, regionId: null, tab: runId ? 'run' : 'job' }
}

/** The address with the group that its region names: Airflow's pages of a task know only the task's id. */
export function withGroup(address: Address, groups: readonly string[]): Address {
  if (address.group !== null && (address.group === '' || groups.includes(address.group))) return address
  const regionId = address.regionId ?? ''
  const around = groups.filter((group) => group && regionId.startsWith(`${group}.`)).sort((one, other) => other.length - one.length)[0]
  if (around !== undefined) return { ...address, group: around, regionId: regionId.slice(around.length + 1) }
  if (groups.includes('') || !regionId) return { ...address, group: groups[0] || null }
  return { ...address, group: groups[0] || null, mapIndex: null, regionId: null } // a task of nobody's pipeline
}

export function writeAddress({ dagId, runId, group, mapIndex, regionId, tab }: Address): string {
  const query = new URLSearchParams()
  if (dagId) query.set('dag_id', dagId)
  if (runId) query.set('run_id', runId)
  if (group) query.set('group', group)
  if (mapIndex) query.set('map_index', mapIndex)
  if (regionId) query.set('region', regionId)
  if (dagId) query.set('tab', tab)
  const text = query.toString()
  return text ? `?${text}` : '.'
}
