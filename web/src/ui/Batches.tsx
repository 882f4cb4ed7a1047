import type { Batch } from '../documents'
import { batchColumns } from '../model/batches'

/** The batches of a stream that an attempt has published, the newest first. */
export function Batches({ batches }: { batches: Batch[] }) {
  if (!batches.length) return null
  const columns = batchColumns(batches)
  return (
    <div className="rows batches" tabIndex={0} role="region" aria-label="Batches">
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className="number" title={column.title}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {batches.toReversed().map((batch) => (
            <tr key={batch.number}>
              {columns.map((column) => (
                <td key={column.name} className="number">
                  {column.words(batch)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
