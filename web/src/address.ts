/** What the address says is shown: a Dag, a run of it, a view. */

export const TABS = ['job', 'stream', 'execution', 'run', 'versions'] as const
export type Tab = (typeof TABS)[number]

export interface Address {
  dagId: string | null
  runId: string | null
  /** A region that is selected to begin with. */
  regionId: string | null
  tab: Tab
}

export function readAddress(search: string): Address {
  const query = new URLSearchParams(search)
  // Airflow leaves a placeholder as it is where it has nothing to put there.
  const value = (name: string): string | null => {
    const found = query.get(name)
    return found && !/^\{[A-Z_]+\}$/.test(found) ? found : null
  }
  const runId = value('run_id')
  const tab = TABS.find((known) => known === query.get('tab'))
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
