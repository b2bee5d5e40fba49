import { formatCount } from '@svc/domain/text'
import { useState } from 'react'
import { type DutyGroup, useDuties } from '../cluster/index.ts'
import { formatAge, formatDuration, Problem } from '../ui/index.ts'
import { DutyRuns } from './duty-runs.tsx'
import './runs.css'

/** The duty groups of both leaders: when they ran, how long it took, and which duties failed. */
export function DutyTable() {
  const { data, error } = useDuties()
  if (error && !data) return <Problem>{error.message}</Problem>
  if (!data) return <p className="dim">Loading…</p>
  return (
    <table>
      <thead>
        <tr>
          <th>duties, in order</th>
          <th>leader</th>
          <th className="right">every</th>
          <th className="right">last run</th>
          <th className="right">took</th>
          <th className="right">on average</th>
          <th className="right">runs</th>
          <th>failures</th>
        </tr>
      </thead>
      <tbody>
        {(['coordinator', 'overlord'] as const).flatMap((role) =>
          data[role].map((group) => <GroupRow key={`${role} ${group.name}`} role={role} group={group} />),
        )}
      </tbody>
    </table>
  )
}

function GroupRow({ role, group }: { readonly role: 'coordinator' | 'overlord'; readonly group: DutyGroup }) {
  const {
    name,
    period,
    dutyNames,
    lastRunAgeMs,
    lastRunMillis,
    avgRuntimeMillis,
    runs,
    failures,
    lastErrors,
  } = group
  const failed = Object.entries(failures).filter(([, count]) => count > 0)
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <tr>
        <th scope="row">
          <button type="button" className="link" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
            {name}
          </button>
          <div className="dim duty-names">{dutyNames.join(', ')}</div>
        </th>
        <td>{role}</td>
        <td className="right">{formatDuration(period)}</td>
        <td className="right">{lastRunAgeMs === null ? 'not yet' : formatAge(lastRunAgeMs)}</td>
        <td className="right">{formatCount(lastRunMillis)} ms</td>
        <td className="right">{formatCount(avgRuntimeMillis)} ms</td>
        <td className="right">{formatCount(runs)}</td>
        <td>
          {failed.length === 0
            ? 'none'
            : failed.map(([duty, count]) => (
                <div key={duty}>
                  {duty}: {formatCount(count)}
                  {lastErrors[duty] !== undefined && (
                    <span className="pill future leader" title={lastErrors[duty]}>
                      failing
                    </span>
                  )}
                </div>
              ))}
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={8}>
            <DutyRuns role={role} group={name} />
          </td>
        </tr>
      )}
    </>
  )
}
