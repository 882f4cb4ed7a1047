/** What the server says of two versions of a plan: what `graph-compiler diff --json` prints. */

export interface FactChange {
  fact: string
  before: string | null
  now: string | null
}

export interface OperatorChange {
  kind: 'ADDED' | 'REMOVED' | 'CHANGED' | 'AFFECTED' | 'RENAMED' | 'MOVED'
  name_before: string | null
  name: string | null
  id_before: string | null
  id: string | null
  facts: FactChange[]
}

export interface ResultChange {
  kind: 'REUSABLE' | 'MOVED' | 'RECOMPUTED' | 'ADDED' | 'REMOVED'
  name: string
  id_before: string | null
  id: string | null
}

export interface TaskChange {
  kind: 'ADDED' | 'REMOVED' | 'CHANGED'
  task: string
  reasons: string[]
}

export interface PlanDiff {
  summary: string
  pipeline_before: string
  pipeline: string
  session: FactChange[]
  /** What a run is given: parameters, a schedule. */
  run: FactChange[]
  operators: OperatorChange[]
  results: ResultChange[]
  tasks: TaskChange[]
  tasks_now: number
}
