import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Supervisor, useClusterCompaction, useSupervisors } from '../cluster/index.ts'
import { send } from '../session/index.ts'
import { Name, Notice, Problem, useWork } from '../ui/index.ts'

/** The supervisors. They are idle unless compaction runs as supervisors. */
export function Supervisors() {
  const { data: cluster } = useClusterCompaction()
  const { data: supervisors } = useSupervisors(cluster !== undefined)
  const queries = useQueryClient()
  const { problem, run } = useWork()
  const [reviewed, setReviewed] = useState<string>()
  if (!supervisors || supervisors.length === 0) return null
  const change = ({ id, suspended }: Supervisor) =>
    run(async () => {
      const path = `/svc/indexer/v1/supervisor/${encodeURIComponent(id)}`
      await send(`${path}/${suspended ? 'resume' : 'suspend'}`, { method: 'POST' })
      setReviewed(undefined)
      await queries.invalidateQueries({ queryKey: ['supervisors'] })
    })
  return (
    <section aria-labelledby="supervisors-title">
      <h2 id="supervisors-title">Supervisors</h2>
      {cluster?.useSupervisors === false && (
        <p className="hint">
          These supervisors submit no tasks, because <code>useSupervisors</code> is false in the cluster
          configuration: the coordinator runs compaction.
        </p>
      )}
      {problem && <Problem>{problem}</Problem>}
      <table>
        <thead>
          <tr>
            <th>supervisor</th>
            <th>state</th>
            <th>
              <span className="unseen">Change</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {supervisors.map((one) => (
            <tr key={one.id}>
              <th scope="row">
                <Name>{one.id}</Name>
              </th>
              <td>{one.state.toLowerCase().replaceAll('_', ' ')}</td>
              <td className="right">
                {reviewed === one.id ? (
                  <Review
                    supervisor={one}
                    onApply={() => void change(one)}
                    onCancel={() => setReviewed(undefined)}
                  />
                ) : (
                  <button type="button" onClick={() => setReviewed(one.id)}>
                    {one.suspended ? 'Resume…' : 'Suspend…'}
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** What suspending or resuming a supervisor does, before it is done. */
function Review({
  supervisor: { dataSource, suspended },
  onApply,
  onCancel,
}: {
  readonly supervisor: Supervisor
  onApply(): void
  onCancel(): void
}) {
  return (
    <Notice kind="future" role="status">
      <p>
        {suspended ? 'Compaction of ' : 'The supervisor submits no more tasks for '}
        <Name>{dataSource}</Name>
        {suspended ? ' resumes with the next run.' : ' until you resume it. Running tasks continue.'}
      </p>
      <div className="row">
        <button type="button" className="primary" onClick={onApply}>
          {suspended ? 'Resume' : 'Suspend'}
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </Notice>
  )
}
