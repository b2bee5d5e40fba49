import {
  certificateRows,
  handshakeAdvice,
  type Recorded,
  type RefusedHandshake,
  type RefusedRequest,
} from '@svc/domain/access'
import { type ReactNode, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { useFailedLogins, useRefusedHandshakes, useRefusedRequest } from '../cluster/index.ts'
import { explainPath, refusalPath, refusedIdIn } from '../session/index.ts'
import { Dialog, formatMinute, Name, Notice, Problem, visible } from '../ui/index.ts'
import { DirectorySteps } from './directory-steps.tsx'

/** The last failed logins and refused TLS handshakes, each with a panel that explains it. */
export function Refusals() {
  const logins = useFailedLogins()
  const handshakes = useRefusedHandshakes()
  const [shown, setShown] = useState<Recorded<RefusedHandshake>>()
  const error = logins.error ?? handshakes.error
  return (
    <section aria-labelledby="refusals-title">
      <h2 id="refusals-title">Failed logins and TLS handshakes</h2>
      <p className="hint">
        From the journals of the router, the coordinator leader, and the overlord leader. Each server keeps
        the last 1,000 refused requests and the last 1,000 refused handshakes until it stops.
      </p>
      {error && <Problem>{error.message}</Problem>}
      {logins.data?.length === 0 && handshakes.data?.length === 0 && (
        <p className="dim">No failed logins or refused handshakes.</p>
      )}
      {logins.data && logins.data.length > 0 && (
        <RefusalTable name="Failed logins" columns={['time', 'user', 'request', 'from']}>
          {logins.data.map(({ id, time, instance, user, method, path, reason, address }) => (
            <tr key={`${instance} ${id} ${time}`}>
              <td className="dim nowrap">{formatMinute(Date.parse(time))}</td>
              <td>
                <Name>{user}</Name>
              </td>
              <td className="call">
                {method} <Name>{path}</Name>
                <div className="small">{reason}</div>
              </td>
              <td className="dim">
                {address}
                <div className="small">to the {instance}</div>
              </td>
              <td className="right">
                <Link href={refusalPath(id)}>Why?</Link>
              </td>
            </tr>
          ))}
        </RefusalTable>
      )}
      {handshakes.data && handshakes.data.length > 0 && (
        <RefusalTable name="Refused handshakes" columns={['time', 'certificate', 'reason', 'from']}>
          {handshakes.data.map((refused) => (
            <tr key={refused.id}>
              <td className="dim nowrap">{formatMinute(Date.parse(refused.time))}</td>
              <td>{refused.certificate && <Name>{refused.certificate.subject}</Name>}</td>
              <td className="call">{refused.code}</td>
              <td className="dim">
                {refused.address}
                <div className="small">to the {refused.instance}</div>
              </td>
              <td className="right">
                <button type="button" className="link" onClick={() => setShown(refused)}>
                  Why?
                </button>
              </td>
            </tr>
          ))}
        </RefusalTable>
      )}
      {shown && <HandshakeDialog refused={shown} onClose={() => setShown(undefined)} />}
      <LinkedRefusal />
    </section>
  )
}

const RefusalTable = ({
  name,
  columns,
  children,
}: {
  readonly name: string
  readonly columns: readonly string[]
  readonly children: ReactNode
}) => (
  <div className="scroll" tabIndex={0} role="group" aria-label={name}>
    <table>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column}>{column}</th>
          ))}
          <th>
            <span className="unseen">Explanation</span>
          </th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
)

/** The panel of the refused request that the address names. */
function LinkedRefusal() {
  const search = useSearch()
  const [, navigate] = useLocation()
  const id = refusedIdIn(search)
  const { data, error } = useRefusedRequest(id)
  if (id === undefined) return null
  const [refused] = data ?? []
  return (
    <Dialog
      key={id}
      className="refused-request"
      title="Why was this request refused?"
      onClose={() => {
        // A link to an explanation has replaced the address.
        if (refusedIdIn(location.search) === id) navigate('/access')
      }}
    >
      {(close) => (
        <>
          {error && <Problem>{error.message}</Problem>}
          {!data && !error && <p className="dim">Loading the explanation…</p>}
          {data && !refused && (
            <p>
              The router, the coordinator, and the overlord have no record of the request <Name>{id}</Name>.
              Another server may have refused it, or the record is gone: each server keeps the last 1,000
              refused requests until it stops.
            </p>
          )}
          {refused && <RequestAnswer refused={refused} close={close} />}
        </>
      )}
    </Dialog>
  )
}

function RequestAnswer({ refused, close }: { readonly refused: Recorded<RefusedRequest>; close(): void }) {
  const { id, time, instance, address, method, path, status, user, message, reason, because, directory } =
    refused
  return (
    <>
      <p>
        <code>
          {method} <Name>{path}</Name>
        </code>{' '}
        {user !== '' && (
          <>
            as <Name>{user}</Name>{' '}
          </>
        )}
        from {address} to the {instance} on {formatMinute(Date.parse(time))}: status {status},{' '}
        {visible(message)}.
      </p>
      <Notice kind="warning">
        <b>{reason}.</b> <bdi>{visible(because)}</bdi>.
      </Notice>
      <DirectorySteps title="Requests to the directory at that time" steps={directory} />
      {user !== '' && (
        <p>
          <Link href={explainPath({ user, method, path })} onClick={close}>
            What would the cluster decide now?
          </Link>
        </p>
      )}
      <p className="dim small">
        Request ID <Name>{id}</Name>
      </p>
    </>
  )
}

function HandshakeDialog({
  refused,
  onClose,
}: {
  readonly refused: Recorded<RefusedHandshake>
  onClose(): void
}) {
  const { id, time, instance, address, reason, certificate } = refused
  const rows = certificate ? certificateRows(certificate) : []
  return (
    <Dialog className="refused-request" title="Why was this handshake refused?" onClose={onClose}>
      {() => (
        <>
          <p>
            From {address} to the {instance} on {formatMinute(Date.parse(time))}.
          </p>
          <Notice kind="warning">
            <b>
              <bdi>{visible(reason)}</bdi>.
            </b>{' '}
            <bdi>{visible(handshakeAdvice(refused))}</bdi>.
          </Notice>
          {rows.length > 0 && (
            <table>
              <tbody>
                {rows.map(([name, value]) => (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <td className="wrapped">
                      <Name>{value}</Name>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
          <p className="dim small">
            Handshake ID <Name>{id}</Name>
          </p>
        </>
      )}
    </Dialog>
  )
}
