import { useState } from 'react'
import { Link } from 'wouter'
import { useSecurityAudit } from '../cluster/index.ts'
import { explainPath, refusalPath, requestOfEvent } from '../session/index.ts'
import { formatMinute, Name, Problem } from '../ui/index.ts'

const kinds = [
  ['', 'all'],
  ['change', 'changes'],
  ['loginFailure', 'failed logins'],
  ['forbidden', 'missing permissions'],
  ['login', 'administrator logins'],
] as const
const kindTexts: Readonly<Record<string, string>> = {
  change: 'changed',
  loginFailure: 'failed login',
  forbidden: 'missing permission',
  login: 'login',
}

/** Who changed users and roles, and who was rejected. */
export function SecurityAudit() {
  const [kind, setKind] = useState('')
  const { data, error } = useSecurityAudit(kind)
  return (
    <section aria-labelledby="audit-title">
      <div className="row between">
        <h2 id="audit-title">Security events</h2>
        <label className="row">
          Show
          <select value={kind} onChange={(event) => setKind(event.target.value)}>
            {kinds.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
      {error && <Problem>{error.message}</Problem>}
      {data?.length === 0 && <p className="dim">No events of this kind.</p>}
      {data && data.length > 0 && (
        <table className="names">
          <thead>
            <tr>
              <th>time</th>
              <th>event</th>
              <th>user</th>
              <th>what</th>
              <th>from</th>
              <th>
                <span className="unseen">Explanation</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {data.map(({ id, time, kind: of, identity, key, address, details }) => (
              <tr key={id}>
                <td className="dim nowrap">{formatMinute(Date.parse(time))}</td>
                <td>{kindTexts[of]}</td>
                <td>
                  <Name>{identity}</Name>
                </td>
                <td>
                  <Name>{key}</Name>
                  {details?.because !== undefined && (
                    <div className="dim small">
                      <Name>{details.because}</Name>
                    </div>
                  )}
                </td>
                <td className="dim">{address}</td>
                <td className="right">
                  <WhyRefused kind={of} eventKey={key} identity={identity} requestId={details?.requestId} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

/** A link to the explanation of a failed login, or of a request that lacked a permission. */
function WhyRefused({
  kind,
  eventKey: key,
  identity,
  requestId,
}: {
  readonly kind: string
  readonly eventKey: string
  readonly identity: string
  readonly requestId: string | undefined
}) {
  if (kind === 'loginFailure')
    return requestId === undefined ? null : <Link href={refusalPath(requestId)}>Why?</Link>
  const request = requestOfEvent({ kind, key, identity })
  return request && <Link href={explainPath(request)}>Why?</Link>
}
