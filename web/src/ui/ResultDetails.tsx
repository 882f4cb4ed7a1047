import { apiPath, ofRun } from '../api'
import type { StagedResult, ViewRun } from '../documents'
import { bytesWords, rowsWords } from '../model/words'
import { useDocument } from '../poll'
import { Facts } from './Facts'
import { Rows } from './Rows'

/** A partition this many times larger than the mean delays the others. */
const SKEWED_FROM = 3

/** A result between two tasks: its columns, and how its rows are distributed. */
export function ResultDetails({ run, result }: { run: ViewRun; result: string }) {
  const { document: staged, error } = useDocument<StagedResult>(apiPath(['dags', run.pipeline, 'result'], { ...ofRun(run), result }))
  if (error) return <p className="faint">{error}</p>
  if (!staged) return null
  const sizes = staged.partitions.map((partition) => partition.rows ?? 0)
  const mean = sizes.reduce((sum, size) => sum + size, 0) / Math.max(1, sizes.length)
  const skew = Math.max(0, ...sizes) / Math.max(1, mean)
  return (
    <>
      <h3>Staged result</h3>
      <Facts
        facts={[
          ['rows', rowsWords(staged.rows)],
          ['size', bytesWords(staged.bytes)],
          ['epoch', staged.epoch],
          ['partitions', sizes.length ? `${sizes.length}, ${rowsWords(Math.min(...sizes))} to ${rowsWords(Math.max(...sizes))} rows` : null],
          ['skew', skew > SKEWED_FROM ? `the largest partition has ${skew.toFixed(1)} times the mean` : null],
          ['checksum', staged.checksum],
        ]}
      />
      <table>
        <thead>
          <tr>
            <th scope="col">column</th>
            <th scope="col">type</th>
          </tr>
        </thead>
        <tbody>
          {staged.schema.map((column) => (
            <tr key={column.name}>
              <th scope="row">{column.name}</th>
              <td>
                {column.type}
                {column.nullable ? '' : ' not null'}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {staged.rows_are_shown && <Rows key={`${run.run_id} ${result}`} run={run} result={result} />}
    </>
  )
}
