import { type AnsweredFault, faultsPath } from '@svc/domain/faults'
import { useQueryClient } from '@tanstack/react-query'
import { send } from '../session/index.ts'
import { Name, Problem, useWork } from '../ui/index.ts'
import { faultText, remainingText } from './fault-text.ts'

interface FaultListInput {
  readonly faults: readonly AnsweredFault[]
  readonly now: number
  readonly canEnd: boolean
}

/** The active faults, with buttons that end them. */
export function FaultList({ faults, now, canEnd }: FaultListInput) {
  const queries = useQueryClient()
  const { problem, run } = useWork()
  const end = async (path: string) => {
    await run(async () => {
      await send(path, { method: 'DELETE' })
    })
    await queries.invalidateQueries({ queryKey: ['faults'] })
  }
  return (
    <section aria-labelledby="faults-title">
      <div className="row between">
        <h2 id="faults-title">Active faults</h2>
        {canEnd && faults.length > 1 && (
          <button type="button" onClick={() => void end(faultsPath)}>
            Clear all
          </button>
        )}
      </div>
      {problem && <Problem>{problem}</Problem>}
      {faults.length === 0 && <p className="dim">None.</p>}
      {faults.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>fault</th>
              <th>affects</th>
              <th>lasts</th>
              <th>
                <span className="unseen">Clear</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {faults.map((fault) => (
              <tr key={fault.id}>
                <th scope="row">{faultText(fault)}</th>
                <td>
                  <Affected fault={fault} />
                </td>
                <td>{remainingText(fault, now)}</td>
                <td className="right">
                  {canEnd && (
                    <button
                      type="button"
                      aria-label={`Clear: ${faultText(fault)}, ${fault.target}`}
                      onClick={() => void end(`${faultsPath}/${encodeURIComponent(fault.id)}`)}
                    >
                      Clear
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

function Affected({ fault: { target, from } }: { readonly fault: AnsweredFault }) {
  if (from === null) return <Name>{target}</Name>
  return (
    <>
      calls from <Name>{from}</Name> to <Name>{target}</Name>
    </>
  )
}
