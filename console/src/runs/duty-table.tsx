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
    <table className="duties">
      <thead>
        <tr>
          <th>leader, and its duties in order</th>
          <th className="right">every</th>
          <th className="right">last run</th>
          <th className="right">took</th>
          <th className="right">runs</th>
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
          <div className="dim duty-names">
            {role}: {dutyNames.join(', ')}
            {Object.entries(lastErrors).map(([duty, error]) => (
              <p key={duty} className="future-text">
                {duty} failed in the last run: <bdi>{error}</bdi>
              </p>
            ))}
          </div>
        </th>
        <td className="right">{formatDuration(period)}</td>
        <td className="right">{lastRunAgeMs === null ? 'not yet' : formatAge(lastRunAgeMs)}</td>
        <td className="right">
          {formatCount(lastRunMillis)} ms
          <div className="dim">{formatCount(avgRuntimeMillis)} ms on average</div>
        </td>
        <td className="right">
          {formatCount(runs)}
          {failed.length === 0 && <div className="dim">none failed</div>}
          {failed.map(([duty, count]) => (
            <div key={duty} className="duty-failures">
              {duty}: {formatCount(count)} failed
            </div>
          ))}
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={5}>
            <DutyRuns role={role} group={name} />
          </td>
        </tr>
      )}
    </>
  )
}
