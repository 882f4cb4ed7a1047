/** What a URL shows: a Dag, a run of it, a view. */

export const TABS = ['job', 'stream', 'execution', 'run', 'versions'] as const
export type Tab = (typeof TABS)[number]

export interface Address {
  dagId: string | null
  runId: string | null
  /** A region that is selected at first. */
  regionId: string | null
  tab: Tab
}

/** The names in a URL's query. */
export const NAMES = ['dag_id', 'run_id', 'region', 'tab'] as const

/** Read a query; names that it does not have are taken from `otherwise`. */
export function readAddress(search: string, otherwise = ''): Address {
  const queries = [new URLSearchParams(search), new URLSearchParams(otherwise)]
  // Airflow leaves a placeholder unchanged if it has no value for it.
  const value = (name: (typeof NAMES)[number]): string | null =>
    queries.map((query) => query.get(name)).find((found) => found && !/^\{[A-Z_]+\}$/.test(found)) ?? null
  const runId = value('run_id')
  const tab = TABS.find((known) => known === value('tab'))
  return { dagId: value('dag_id'), runId, regionId: value('region'), tab: tab ?? (runId ? 'run' : 'job') }
}

export function writeAddress({ dagId, runId, regionId, tab }: Address): string {
  const query = new URLSearchParams()
  if (dagId) query.set('dag_id', dagId)
  if (runId) query.set('run_id', runId)
  if (regionId) query.set('region', regionId)
  if (dagId) query.set('tab', tab)
  const text = query.toString()
  return text ? `?${text}` : '.'
}
