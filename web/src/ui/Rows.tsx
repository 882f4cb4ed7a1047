import { useState } from 'react'
import { apiPath, ofRun } from '../api'
import type { Cell, RowSample, ViewRun } from '../documents'
import { captionWords, cutWords, isNumber } from '../model/rows'
import { useDocument } from '../poll'

/** The first rows of a staged result, requested only when a user clicks. */
export function Rows({ run, result }: { run: ViewRun; result: string }) {
  const [isShown, show] = useState(false)
  const path = apiPath(['dags', run.pipeline, 'rows'], { ...ofRun(run), result })
  const { document: sample, error } = useDocument<RowSample>(isShown ? path : null)
  return (
    <>
      <p>
        <button type="button" aria-expanded={isShown} onClick={() => show(!isShown)}>
          {isShown ? 'Hide rows' : 'Show rows'}
        </button>
      </p>
      {isShown && (
        <p className="faint" role="status">
          {error ?? (sample ? [`${captionWords(sample)}.`, ...sample.notes].join(' ') : 'Reading…')}
        </p>
      )}
      {sample && sample.rows.length > 0 && <RowTable sample={sample} />}
    </>
  )
}

export function RowTable({ sample }: { sample: RowSample }) {
  const kinds = sample.columns.map((column) => (isNumber(column.type) ? 'number' : undefined))
  return (
    // It gets the focus, so that the arrow keys scroll it.
    <div className="rows" role="region" aria-label="Rows" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {sample.columns.map((column, at) => (
              <th key={column.name} scope="col" className={kinds[at]}>
                {column.name}
                <div className="kind">{column.type}</div>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sample.rows.map((row, number) => (
            <tr key={number}>
              {row.map((cell, at) => (
                <td key={at} className={kinds[at]}>
                  <CellText cell={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A value as text; a missing value looks different from any text. */
function CellText({ cell }: { cell: Cell }) {
  if (cell === null) {
    return (
      <span className="tag null">
        NULL<span className="unseen"> (no value)</span>
      </span>
    )
  }
  if (typeof cell === 'string') return cell
  return (
    <>
      {cell.text}
      <span className="faint">{cutWords(cell)}</span>
    </>
  )
}
