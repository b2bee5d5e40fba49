import { countOf, formatCount } from '@svc/domain/text'
import { useMemo, useState } from 'react'
import { useCaller, useCalls } from '../cluster/index.ts'
import { Name, Notice } from '../ui/index.ts'
import { type CallRow, type CallSide, callRows } from './call-rows.ts'

/** The last calls between all servers: who called whom, as which user, and how often. */
export function Calls() {
  const { data: caller } = useCaller()
  const { data } = useCalls(caller?.state.read === true)
  const [onlyFailed, setOnlyFailed] = useState(false)
  const rows = useMemo(() => callRows(data?.calls ?? []), [data])
  if (!data) return null
  const shown = onlyFailed ? rows.filter(({ failures }) => failures > 0) : rows
  return (
    <section aria-labelledby="calls-title">
      <div className="row between">
        <h2 id="calls-title">Calls between servers</h2>
        <label className="check">
          <input
            type="checkbox"
            checked={onlyFailed}
            onChange={(event) => setOnlyFailed(event.target.checked)}
          />
          Only requests that failed
        </label>
      </div>
      <p className="hint">
        From the journals of all servers, which keep the most recent calls. Requests from users are not
        included.
        {data.omittedServers > 0 &&
          ` The journals of ${countOf(data.omittedServers, 'more server')} are not included.`}
      </p>
      {data.missing.length > 0 && (
        <Notice kind="warning">
          {data.missing.slice(0, 3).map(({ server, reason }) => (
            <p key={server}>
              Failed to read the journal of {server}: {reason}
            </p>
          ))}
          {data.missing.length > 3 && (
            <p>Failed to read {formatCount(data.missing.length - 3)} more journals.</p>
          )}
        </Notice>
      )}
      {shown.length === 0 ? (
        <p className="dim">{onlyFailed ? 'No request failed.' : 'No calls yet.'}</p>
      ) : (
        <CallTable rows={shown} />
      )}
    </section>
  )
}

const CallTable = ({ rows }: { readonly rows: readonly CallRow[] }) => (
  <table>
    <thead>
      <tr>
        <th>from</th>
        <th>to</th>
        <th>as</th>
        <th>request</th>
        <th className="right">calls</th>
        <th className="right">failed</th>
        <th className="right">last</th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={row.key}>
          <td>
            <Side side={row.from} />
          </td>
          <td>
            <Side side={row.to} />
          </td>
          <td>
            <Name>{row.identity}</Name>
            {!row.isEncrypted && <div className="future-text small">not encrypted</div>}
          </td>
          <td className="call">
            {row.request}
            {row.lastFailure && (
              <div className="future-text small">
                The last one failed: <bdi>{row.lastFailure}</bdi>
              </div>
            )}
          </td>
          <td className="right">{formatCount(row.calls)}</td>
          <td className={row.failures > 0 ? 'right future-text' : 'right dim'}>
            {formatCount(row.failures)}
          </td>
          <td className="right dim nowrap">{row.lastTime.slice(11, 19)}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

/** A server, or how many servers of a role. */
function Side({ side: { role, names } }: { readonly side: CallSide }) {
  return (
    <>
      {role === '' ? 'not a server' : role}
      <div className="dim small numbers" title={names.join(', ')}>
        {names.length === 1 ? <Name>{names[0]!}</Name> : `${formatCount(names.length)} servers`}
      </div>
    </>
  )
}
