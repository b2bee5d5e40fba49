import { Name, useLongTable } from '../ui/index.ts'
import type { QueryResult } from './use-query-run.ts'

const rowHeight = 28
const numericTypes = /^(BIGINT|INTEGER|DOUBLE|FLOAT|REAL|DECIMAL|SMALLINT|TINYINT)/

/** The rows of a result, of which only the visible ones exist. */
export function ResultTable({ result: { columns, types, rows } }: { readonly result: QueryResult }) {
  const { box, indexes, before, after } = useLongTable(rows.length, rowHeight)
  const sideOf = (index: number) => (numericTypes.test(types[index] ?? '') ? 'right' : '')
  if (rows.length === 0) return <p className="dim">The query returned no rows.</p>
  return (
    <div ref={box} className="scroll framed" tabIndex={0} role="group" aria-label="Result">
      <table className="list fit" aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {columns.map((name, index) => (
              <th key={`${name} ${index}`} className={sideOf(index)} title={types[index]}>
                <Name>{name}</Name>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <tr style={{ height: before }} />}
          {indexes.map((index) => (
            <tr key={index} aria-rowindex={index + 2} style={{ height: rowHeight }}>
              {rows[index]!.map((value, column) => (
                <td key={column} className={sideOf(column)}>
                  <Value value={value} />
                </td>
              ))}
            </tr>
          ))}
          {after > 0 && <tr style={{ height: after }} />}
        </tbody>
      </table>
    </div>
  )
}

function Value({ value }: { readonly value: unknown }) {
  if (value === null) return <span className="dim">null</span>
  if (typeof value === 'string') return <Name>{value}</Name>
  return JSON.stringify(value)
}
