/* eslint max-lines: off -- one file for all documents, and nobody writes it */
/**
 * The documents the server writes. Null is "not known" or "none"; times are seconds since the epoch.
 * Made from Python's dataclasses by tests/view_documents.py (`make web`); do not change it by hand.
 */

/** One compiled pipeline. `plan_id` is null where it cannot be deployed. */
export interface ViewPlan {
  version: number
  pipeline: string
  plan_id: string | null
  description: string | null
  options: Option[]
  operators: Operator[]
  stream_edges: StreamEdge[]
  vertices: Vertex[]
  edges: JobEdge[]
  regions: Region[]
}

/** An option whose value differs from the default. */
export interface Option {
  key: string
  value: string
  set_by: string
}

/** One operator; `declared_at` has the file relative to its project, since hosts have different parent folders. */
export interface Operator {
  id: number
  name: string
  kind: string
  uid: string | null
  operator_id: string | null
  vertex: string
  parallelism: number
  parallelism_configured: boolean
  details: string[]
  declared_at: string | null
  expensive: boolean
}

/** An edge of two operators; partitioner and tag are Flink's virtual nodes. */
export interface StreamEdge {
  id: string
  source: number
  target: number
  partitioner: string
  output_tag: string | null
  is_chained: boolean
  why_not_chained: string | null
}

/** One job vertex; `parallelism` null is decided at run time. */
export interface Vertex {
  id: string
  index: number
  name: string
  operators: number[]
  region: string
  parallelism: number | null
  parallelism_configured: boolean
  max_parallelism: number | null
  slot_sharing_group: string
}

/**
 * One job edge; `result` and `reason` only where it is staged.
 *
 * `explanation` says why it is, or why it stays in memory if the declaration requests that.
 */
export interface JobEdge {
  id: string
  source: string
  target: string
  from_operator: number
  to_operator: number
  ship_strategy: string
  words: string
  result_type: ResultPartitionType
  distribution: DistributionPattern
  output_tag: string | null
  result: string | null
  is_staged: boolean
  reason: StagingReason | null
  explanation: string | null
}

/** Where a result is stored. In Flink, buffers or local files; here BLOCKING is a staged directory. */
export type ResultPartitionType = 'PIPELINED_BOUNDED' | 'BLOCKING' | 'HYBRID_FULL' | 'HYBRID_SELECTIVE'

/** Which partitions a consumer subtask reads: some (POINTWISE) or all. */
export type DistributionPattern = 'POINTWISE' | 'ALL_TO_ALL'

/** Why an edge is staged; `staging_words` has the text for each. */
export type StagingReason = 'DECLARED' | 'DECLARED_IN_TASK' | 'EXPENSIVE' | 'CONTRACT' | 'ALL_EXCHANGES_BLOCKING' | 'OUTPUT_ONLY_AFTER_END' | 'SLOT_SHARING_GROUP_DIFFERS' | 'WOULD_CYCLE' | 'PREVIOUS_VERSION'

/** One region and the Airflow task that runs it; `resources` as text. */
export interface Region {
  id: string
  task: string
  vertices: string[]
  slot_sharing_group: string
  resources: string[]
  failure_cost: FailureCost
}

/** What a failure at the end of a region repeats. */
export interface FailureCost {
  repeated: string[]
  expensive: string[]
  reread: string[]
  spared: number
}

/**
 * The current state of a run. `has_documents` false: this server does not see the documents of the attempts.
 *
 * `tasks` have documents, and those of `tasks_read` were read: fewer if they exceed the limit of one request.
 * `reasons_are_shown` false: this user may not see why attempts failed. `map_index` is null unless its task group is
 * mapped; `map_indexes` are those of all instances that Airflow has expanded. `pipeline` is the Dag.
 */
export interface ViewRun {
  version: number
  pipeline: string
  group: string
  run_id: string
  map_index: number | null
  map_indexes: number[]
  state: string
  run_type: string
  logical_date: string | null
  queued: number | null
  started: number | null
  ended: number | null
  dag_version: number | null
  plan_id: string | null
  has_documents: boolean
  tasks: number
  tasks_read: number
  reasons_are_shown: boolean
  regions: RegionRun[]
}

/** One task of a run; `state` is that of its current execution. */
export interface RegionRun {
  id: string
  state: ExecutionState
  airflow_state: string | null
  attempts: Attempt[]
}

/** The state of an attempt. RECONCILING exists in Flink, where masters once recovered tasks; nothing enters it. */
export type ExecutionState = 'CREATED' | 'SCHEDULED' | 'DEPLOYING' | 'INITIALIZING' | 'RUNNING' | 'FINISHED' | 'CANCELING' | 'CANCELED' | 'FAILED' | 'RECONCILING'

/**
 * One execution of the region. `number` counts them from 0, `try_number` is that of Airflow's try, from 1.
 *
 * `number` is null for a try that left no execution: it failed before it was deployed, or the execution was removed.
 *
 * Airflow queued it at `queued`. While it runs, and after it died without a report, `vertices` and `work` are the last
 * known ones; otherwise, `current` is null. `actual` is what ran, of an attempt with a report, and `remarks` what was
 * skewed, late or spilled. `batches` are the last ones of a stream.
 */
export interface Attempt {
  number: number | null
  try_number: number
  execution_id: string
  state: ExecutionState
  queued: number | null
  started: number | null
  ended: number | null
  host: string | null
  reason: string | null
  throwable_type: ThrowableType | null
  failed_operator: string | null
  current: Step | null
  recomputed: string[]
  vertices: VertexRun[]
  outputs: OutputRun[]
  contracts: ContractRun[]
  work: Work | null
  application_id: string | null
  spark_url: string | null
  log_url: string
  actual: ActualExecution | null
  remarks: string[]
  batches: Batch[]
}

/** The type of a failure, which determines whether a retry can help (Flink's noun). */
export type ThrowableType = 'NON_RECOVERABLE_ERROR' | 'PARTITION_DATA_MISSING_ERROR' | 'ENVIRONMENT_ERROR' | 'RECOVERABLE_ERROR'

/** What an attempt is running, and `since` when; its last step if its driver died. */
export interface Step {
  operator: string
  phase: Phase
  since: number
}

/**
 * The purpose of a Spark action.
 *
 * EVALUATE: an operator becomes part of a plan (a schema is inferred). SHARE: rows with several readers are fixed.
 * STAGE: rows are staged for other tasks. PREPARE: a sink's rows are written beside its target. PREVIEW: rows are
 * shown to a user.
 */
export type Phase = 'evaluate' | 'share' | 'stage' | 'prepare' | 'preview'

/** One job vertex in one attempt. */
export interface VertexRun {
  id: string
  rows: number | null
  seconds: number | null
  operators: OperatorRun[]
}

/** Rows into and out of an operator. */
export interface OperatorRun {
  name: string
  rows_in: number | null
  rows_out: number | null
  side_rows: [string, number | null][]
  may_be_too_high: boolean
}

/** A sink or a staged result; `result` is the id of the latter. */
export interface OutputRun {
  kind: string
  name: string
  location: string
  rows: number
  bytes: number
  result: string | null
}

/** The counts of a data contract; `found` is a total with its limit, or a limit of the violations. */
export interface ContractRun {
  name: string
  violations: number
  rows: number
  on_violation: string
  found: string | null
}

/** Spark's work in an attempt, over all finished actions. */
export interface Work {
  tasks: number
  failed_tasks: number
  repeated_stages: number
  input_bytes: number
  spilled_bytes: number
  shuffled_bytes: number
  slowest_task: SlowestTask | null
}

/**
 * The task that exceeded its stage's median most, and the operator for which Spark ran it.
 *
 * `is_skewed`: it delayed the others long enough to be reported.
 */
export interface SlowestTask {
  operator: string
  stage_id: number
  tasks: number
  median_seconds: number
  longest_seconds: number
  is_skewed: boolean
}

/** All that was learned about an execution; `notes` say what is left out, and why. */
export interface ActualExecution {
  vertices: ActualVertex[]
  stages: StageRun[]
  exchanges: ExchangeRun[]
  notes: string[]
}

/**
 * Where a vertex ran. `stage_ids` are the stages that returned its operators' rows, in order.
 *
 * `parallelism` is the number of tasks of the last of them, without tasks of other inputs of a union. `splits` are
 * those that its sources were read in. null: not known, because Spark merged its operators into those of others.
 */
export interface ActualVertex {
  vertex_id: string
  parallelism: number | null
  splits: number | null
  stage_ids: number[]
}

/**
 * A stage of Spark: sums over the tasks of all its `attempts`.
 *
 * Rows and bytes that were read are those of files and of exchanges; other connectors count none. `rows_by_task` are
 * the rows that each task of the last attempt read from exchanges. `milliseconds` are run times of its tasks. Both are
 * null if Spark did not keep the tasks, or if there are too many to sort.
 */
export interface StageRun {
  stage_id: number
  attempts: number
  tasks: number
  failed_tasks: number
  run_milliseconds: number
  input_rows: number
  input_bytes: number
  output_rows: number
  output_bytes: number
  exchange_rows_read: number
  exchange_bytes_read: number
  exchange_rows_written: number
  exchange_bytes_written: number
  memory_spilled: number
  disk_spilled: number
  rows_by_task: Spread | null
  milliseconds: Spread | null
}

/**
 * A number's distribution over tasks; `largest_task` is the index of the one with the maximum, null if unknown.
 *
 * Of an even number of tasks, the median is the lower one of the two.
 */
export interface Spread {
  minimum: number
  median: number
  maximum: number
  largest_task: number | null
}

/**
 * Rows that Spark moved between two stages, or sent to all tasks (`kind` is "broadcast").
 *
 * `target` is the vertex that required it, and `source` the one whose rows it moved, perhaps after a partial
 * aggregation: the same vertex if the exchange is between two steps of one operator. `kind` is Spark's partitioning:
 * hash, range, round robin, single, by id. `columns` are those that it distributes by, at most `MOST_COLUMNS`.
 *
 * `partitions` were written, and read by `tasks`: adaptive execution `joined` small ones (the number that ended up
 * with others in one task), and `split` large ones (the number that several tasks read). `bytes_by_task` are
 * approximate, as Spark keeps sizes of partitions rounded. What is not known is null.
 */
export interface ExchangeRun {
  source: string | null
  target: string | null
  kind: string
  columns: string[]
  written_by: number | null
  read_by: number | null
  rows: number | null
  bytes: number | null
  partitions: number | null
  tasks: number | null
  joined: number | null
  split: number | null
  bytes_by_task: Spread | null
}

/**
 * A batch of a stream that an attempt has published, and where the stream was behind it.
 *
 * `rows_in` are of sources, `rows_out` of all sinks. `late` rows were left out. `watermark` is ISO. `behind` is how
 * many records of Kafka were not read, in the partition that is most behind; `waited`, for how many seconds its oldest
 * file had been there. What is not known, or does not exist for the stream, is null.
 */
export interface Batch {
  number: number
  rows_in: number | null
  rows_out: number
  late: number
  watermark: string | null
  state_rows: number | null
  state_bytes: number | null
  behind: number | null
  waited: number | null
  seconds: number
}

/** The compiled pipelines that a user may read. */
export interface PipelineList {
  pipelines: PipelineSummary[]
  runs_are_shown: boolean
}

/**
 * A compiled pipeline in the list. `runs` are its Dag's; null if they are not shown.
 *
 * `group` is the path of its task group; empty in the pipeline's own Dag. `schedule` is Airflow's text for it.
 */
export interface PipelineSummary {
  dag_id: string
  group: string
  pipeline: string
  description: string | null
  schedule: string | null
  is_paused: boolean
  tags: string[]
  operators: number
  vertices: number
  tasks: number
  staged: number
  runs: DagOutcomes | null
}

/**
 * What the runs of a Dag are doing: the one to look at, how many wait or run, and the newest that ended.
 *
 * `last_run` is the newest running one, else the newest that ended, else the newest queued one: a backfill queues
 * many at once.
 */
export interface DagOutcomes {
  last_run: LastRun | null
  running: number
  queued: number
  ended: LastRun[]
}

/** A run of a Dag in the list; `queued` is when it began to wait. */
export interface LastRun {
  run_id: string
  state: string
  run_type: string
  queued: number | null
  started: number | null
  ended: number | null
}

/** The pipelines of a Dag, in the order of their tasks. */
export interface PlacedPipelines {
  pipelines: PlacedPipeline[]
}

/** A pipeline of a Dag; `group` is the path of its task group. */
export interface PlacedPipeline {
  group: string
  pipeline: string
}

/** The newest runs of a Dag. */
export interface RunList {
  runs: RunSummary[]
}

/** A run in the list. `dag_version` is the newest version among its tasks. */
export interface RunSummary {
  run_id: string
  state: string
  run_type: string
  logical_date: string | null
  queued: number | null
  started: number | null
  ended: number | null
  dag_version: number | null
}

/** The newest versions of a Dag. */
export interface VersionList {
  versions: PlanVersion[]
}

/** A Dag version. `plan_id` null: its plan is unreadable, or was never deployed. */
export interface PlanVersion {
  number: number
  created: number
  plan_id: string | null
}

/** All differences, and the staged results that are kept; `tasks_now` is the new number of tasks. */
export interface PlanDiff {
  summary: string
  pipeline_before: string
  pipeline: string
  session: FactChange[]
  run: FactChange[]
  operators: OperatorChange[]
  results: ResultChange[]
  tasks: TaskChange[]
  tasks_now: number
  streams: StreamChange[]
}

/** A setting that differs; null if it is not set. */
export interface FactChange {
  fact: string
  before: string | null
  now: string | null
}

/** A changed operator; ids and names are null on the side where it does not exist. */
export interface OperatorChange {
  kind: OperatorChangeKind
  name_before: string | null
  name: string | null
  id_before: string | null
  id: string | null
  facts: FactChange[]
  columns: SinkColumn[]
}

/** How an operator has changed: the first kind that applies. */
export type OperatorChangeKind = 'ADDED' | 'REMOVED' | 'CHANGED' | 'AFFECTED' | 'RENAMED' | 'MOVED'

/** A column that a sink gains (`before` null), loses (`now` null), or gets with another type, as `name TYPE`. */
export interface SinkColumn {
  before: string | null
  now: string | null
  then: string
}

/** One staged result, changed or not. */
export interface ResultChange {
  kind: ResultChangeKind
  name: string
  id_before: string | null
  id: string | null
}

/** What happens to an already staged result. */
export type ResultChangeKind = 'REUSABLE' | 'MOVED' | 'RECOMPUTED' | 'ADDED' | 'REMOVED'

/** A changed task, and why, as text. */
export interface TaskChange {
  kind: TaskChangeKind
  task: string
  reasons: string[]
}

/** How a task has changed; tasks are identified by id. */
export type TaskChangeKind = 'ADDED' | 'REMOVED' | 'CHANGED'

/** The stream of some sources, changed or not: how the new version continues its checkpoint, and which state. */
export interface StreamChange {
  sources: string[]
  continuation: Continuation
  why: string | null
  state: OperatorState[]
}

/** How a changed query continues a checkpoint. */
export type Continuation = 'CHECKPOINT' | 'SAVEPOINT' | 'SAVEPOINT_WITHOUT_STATE' | 'REFUSED'

/** An operator with state in one of two queries, by its name, and what becomes of its state. */
export interface OperatorState {
  name: string
  fate: StateFate
}

/** What becomes of the state of an operator if another query continues its checkpoint. */
export type StateFate = 'KEPT' | 'MOVED' | 'CHANGED' | 'OTHER_VALUES' | 'PARTIAL' | 'DROPPED' | 'NEW'

/** One committed epoch of a result. `rows_are_shown`: whether this user may see its rows. */
export interface StagedResult {
  result: string
  schema: Column[]
  rows: number
  bytes: number
  epoch: number
  partitions: Partition[]
  checksum: string | null
  rows_are_shown: boolean
}

/** One column; `type` in Spark's own words. */
export interface Column {
  name: string
  type: string
  nullable: boolean
}

/** One partition. */
export interface Partition {
  rows: number
  bytes: number
}

/** Rows in the order of partitions, cells in the order of columns; `notes` say what is left out. */
export interface RowSample {
  epoch: number
  rows_in_result: number
  columns: Column[]
  rows: Cell[][]
  notes: string[]
}

export type Cell = string | CutCell | null

/** The beginning of a long value; `bytes` is the length of all of a string or binary, null for others. */
export interface CutCell {
  text: string
  bytes: number | null
}
