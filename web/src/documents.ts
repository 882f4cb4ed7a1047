/** The documents the server writes, version 1. Null is "not known" or "none"; times are seconds since the epoch. */

export interface PlanOption {
  key: string
  value: string
  set_by: string
}

export interface Operator {
  id: number
  name: string
  kind: string
  uid: string | null
  /** Null for a source that is part of another operator's chain head. */
  operator_id: string | null
  vertex: string
  parallelism: number
  parallelism_configured: boolean
  details: string[]
  declared_at: string | null
  expensive: boolean
}

export interface StreamEdge {
  id: string
  source: number
  target: number
  partitioner: string
  output_tag: string | null
  is_chained: boolean
  why_not_chained: string | null
}

export interface Vertex {
  id: string
  index: number
  name: string
  operators: number[]
  region: string
  /** Null where it is decided at run time. */
  parallelism: number | null
  parallelism_configured: boolean
  max_parallelism: number | null
  slot_sharing_group: string
}

export interface JobEdge {
  id: string
  source: string
  target: string
  from_operator: number
  to_operator: number
  ship_strategy: string
  words: string
  result_type: 'PIPELINED_BOUNDED' | 'BLOCKING'
  distribution: 'ALL_TO_ALL' | 'POINTWISE'
  output_tag: string | null
  result: string | null
  is_staged: boolean
  reason: string | null
  explanation: string | null
}

export interface FailureCost {
  repeated: string[]
  expensive: string[]
  reread: string[]
  spared: number
}

export interface Region {
  id: string
  vertices: string[]
  slot_sharing_group: string
  resources: string[]
  failure_cost: FailureCost | null
}

export interface ViewPlan {
  version: 1
  pipeline: string
  plan_id: string
  description: string | null
  options: PlanOption[]
  operators: Operator[]
  stream_edges: StreamEdge[]
  vertices: Vertex[]
  edges: JobEdge[]
  regions: Region[]
}

export type ExecutionState =
  | 'CREATED'
  | 'SCHEDULED'
  | 'DEPLOYING'
  | 'INITIALIZING'
  | 'RUNNING'
  | 'FINISHED'
  | 'CANCELING'
  | 'CANCELED'
  | 'FAILED'
  | 'RECONCILING'

export interface OperatorRun {
  name: string
  rows_in: number | null
  rows_out: number | null
  side_rows: [string, number | null][]
  may_be_too_high: boolean
}

export interface VertexRun {
  id: string
  rows: number | null
  seconds: number | null
  operators: OperatorRun[]
}

export interface OutputRun {
  kind: 'sink' | 'staged'
  name: string
  location: string
  rows: number | null
  bytes: number | null
  result: string | null
}

export interface ContractRun {
  name: string
  violations: number
  rows: number
  on_violation: string
}

/** The task that exceeded the median of its stage most. */
export interface SlowestTask {
  operator: string
  stage_id: number
  tasks: number
  median_seconds: number
  longest_seconds: number
  /** It held the others up for long enough to be worth a word. */
  is_skewed: boolean
}

export interface Work {
  tasks: number
  failed_tasks: number
  repeated_stages: number
  input_bytes: number
  spilled_bytes: number
  shuffled_bytes: number
  slowest_task: SlowestTask | null
}

/** What runs now, since when; of an attempt whose driver died, what ran last. */
export interface Step {
  operator: string
  phase: 'evaluate' | 'share' | 'stage' | 'prepare' | 'preview'
  since: number
}

export interface Attempt {
  number: number
  /** Airflow's, from 1: what people are shown; `number` is Flink's, from 0. */
  try_number: number
  execution_id: string
  state: ExecutionState
  started: number | null
  ended: number | null
  host: string | null
  reason: string | null
  throwable_type: string | null
  failed_operator: string | null
  current: Step | null
  recomputed: string[]
  vertices: VertexRun[]
  outputs: OutputRun[]
  contracts: ContractRun[]
  work: Work | null
  application_id: string | null
  spark_url: string | null
  log_url: string | null
}

export interface RegionRun {
  id: string
  state: ExecutionState
  airflow_state: string | null
  attempts: Attempt[]
}

export interface ViewRun {
  version: 1
  pipeline: string
  run_id: string
  state: string
  run_type: string
  logical_date: string | null
  started: number | null
  ended: number | null
  dag_version: number | null
  plan_id: string | null
  has_documents: boolean
  reasons_are_shown: boolean
  regions: RegionRun[]
}

export interface RunSummary {
  run_id: string
  state: string
  run_type: string
  logical_date: string | null
  started: number | null
  ended: number | null
  dag_version: number | null
}

export interface PipelineSummary {
  dag_id: string
  description: string | null
  tags: string[]
  operators: number
  vertices: number
  tasks: number
  staged: number
  last_run: { run_id: string; state: string; started: number | null; ended: number | null } | null
}

export interface PlanVersion {
  number: number
  created: number | string | null
  plan_id: string | null
}

export interface StagedResult {
  result: string
  schema: { name: string; type: string; nullable: boolean }[]
  rows: number | null
  bytes: number | null
  epoch: number | string | null
  partitions: { rows: number | null; bytes: number | null }[]
  checksum: string | null
  rows_are_shown: boolean
}

/** The beginning of a long value; `bytes` are those of the whole, of strings and binaries. */
export interface CutCell {
  text: string
  bytes: number | null
}

export type Cell = string | CutCell | null

export interface RowSample {
  epoch: number
  rows_in_result: number
  columns: { name: string; type: string; nullable: boolean }[]
  rows: Cell[][]
  notes: string[]
}
