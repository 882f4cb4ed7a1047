import type { Attempt, RegionRun } from '../documents'
import { statePaint, type Theme } from '../export/palette'
import { followOutside, linkTarget } from '../links'
import { bytesWords, counted, rowsWords, secondsWords, spanSeconds, timeWords } from '../model/words'
import { attemptWords, hints } from '../model/runState'
import { Batches } from './Batches'
import { StateBadge } from './StateBadge'

/** The attempts at a region, the newest first. */
export function Attempts({ region, theme }: { region: RegionRun; theme: Theme }) {
  if (!region.attempts.length) return <p className="faint">No attempt yet{region.airflow_state ? `: Airflow says ${region.airflow_state}` : ''}.</p>
  return (
    <>
      <h3>{counted(region.attempts.length, 'attempt')}</h3>
      {region.attempts.toReversed().map((attempt) => (
        <AttemptDetails key={attempt.execution_id} attempt={attempt} theme={theme} />
      ))}
    </>
  )
}

function OutsideLink({ url, children }: { url: string | null; children: string }) {
  const href = linkTarget(url, window.location.href)
  if (!href) return null
  return (
    <a href={href} target="_top" rel="noreferrer" onClick={followOutside}>
      {children}
    </a>
  )
}

export function AttemptDetails({ attempt, theme }: { attempt: Attempt; theme: Theme }) {
  const { work } = attempt
  return (
    <section className="attempt">
      <div>
        <StateBadge paint={statePaint(attempt.state, theme)} /> {attemptWords(attempt)}
        {attempt.started !== null && attempt.ended !== null && <> · {secondsWords(spanSeconds(attempt.started, attempt.ended))}</>}{' '}
        <OutsideLink url={attempt.log_url}>log</OutsideLink> <OutsideLink url={attempt.spark_url}>Spark UI</OutsideLink>
      </div>
      <div className="faint">
        since {timeWords(attempt.started)}
        {attempt.host && ` on ${attempt.host}`}
        {attempt.application_id && ` · ${attempt.application_id}`}
      </div>
      {attempt.reason && (
        <p className="reason">
          {attempt.throwable_type && <strong>{attempt.throwable_type} </strong>}
          {attempt.failed_operator && !attempt.reason.includes(attempt.failed_operator) && <>in {attempt.failed_operator}: </>}
          {attempt.reason}
        </p>
      )}
      {attempt.recomputed.map((line, at) => (
        <p key={at} className="recomputed">
          ↻ {line}
        </p>
      ))}
      {attempt.outputs.length > 0 && (
        <ul>
          {attempt.outputs.map((output, at) => (
            <li key={at}>
              {output.kind === 'staged' ? 'staged' : 'written'} <strong>{output.name}</strong>: {rowsWords(output.rows)} rows, {bytesWords(output.bytes)}
              <div className="faint">{output.location}</div>
            </li>
          ))}
        </ul>
      )}
      <Batches batches={attempt.batches} />
      {attempt.contracts.map((contract) => (
        <p key={contract.name} className={contract.violations ? 'reason' : ''}>
          contract {contract.name}: {counted(contract.violations, 'violation')} in {counted(contract.rows, 'row')}
          {contract.found !== null && `, ${contract.found}`} ({contract.on_violation})
        </p>
      ))}
      {attempt.current && (
        <p>
          {attempt.ended === null ? 'now in' : 'last seen in'} <strong>{attempt.current.operator}</strong>, {attempt.current.phase}, since {timeWords(attempt.current.since)}
        </p>
      )}
      {work && (
        <p className="faint">
          {bytesWords(work.input_bytes)} read by {counted(work.tasks, 'Spark task')}
          {work.failed_tasks > 0 && `, ${work.failed_tasks} failed`}
          {work.repeated_stages > 0 && `, ${counted(work.repeated_stages, 'stage')} repeated`}, {bytesWords(work.shuffled_bytes)} shuffled,{' '}
          {bytesWords(work.spilled_bytes)} spilled
          {work.spilled_bytes > 0 && ': use more memory or more partitions to avoid this'}
          {work.slowest_task && (
            <>
              . Slowest task: {secondsWords(work.slowest_task.longest_seconds)} in stage {work.slowest_task.stage_id} ({work.slowest_task.operator}), half of its{' '}
              {counted(work.slowest_task.tasks, 'task')} {secondsWords(work.slowest_task.median_seconds)} or less
            </>
          )}
        </p>
      )}
      {hints(work).length > 0 && <p className="recomputed">{hints(work).join('; ')}</p>}
    </section>
  )
}
