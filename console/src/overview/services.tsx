import { formatCount } from '@svc/domain/text'
import { type ClusterNode, useClusterNodes, useLeaders, useMetrics } from '../cluster/index.ts'
import { formatSpan } from '../ui/index.ts'
import { certificateEnds } from './concerns.ts'

const roles = ['router', 'coordinator', 'overlord', 'broker', 'historical', 'indexer', 'worker']

/** The servers by role, and the leaders. */
export function Services() {
  const { data: nodes } = useClusterNodes()
  const { data: leaders } = useLeaders()
  if (!nodes) return null
  const known = [
    ...roles.filter((role) => nodes[role]?.length),
    ...Object.keys(nodes).filter((role) => !roles.includes(role) && nodes[role]!.length > 0),
  ]
  return (
    <section aria-labelledby="services">
      <h2 id="services">Services</h2>
      <table>
        <thead>
          <tr>
            <th>service</th>
            <th>servers</th>
          </tr>
        </thead>
        <tbody>
          {known.map((role) => (
            <tr key={role}>
              <th scope="row">{role}</th>
              <td>
                <Servers nodes={nodes[role]!} leaders={leaders ?? []} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const maxNamed = 4

function Servers({
  nodes,
  leaders,
}: {
  readonly nodes: readonly ClusterNode[]
  readonly leaders: readonly string[]
}) {
  if (nodes.length > maxNamed) return <>{formatCount(nodes.length)} servers</>
  return (
    <>
      {nodes.map((node) => {
        const address = `${node.host}:${node.tlsPort ?? node.plaintextPort}`
        const isLeader = leaders.some((url) => url.endsWith(`//${address}`))
        return (
          <div key={address} className="numbers">
            {address}
            {isLeader && <span className="pill leader">leader</span>}
          </div>
        )
      })}
    </>
  )
}

const certificateUses = [
  ['server', 'server'],
  ['client', 'client'],
  ['authority', 'authority'],
] as const

/** When the certificates of servers expire, for each server whose metrics a router returns. */
export function Certificates() {
  const { data: metrics } = useMetrics()
  const rows = [...(metrics ?? [])]
    .map(([role, one]) => ({ role, ends: certificateEnds(one) }))
    .filter(({ ends }) => ends.size > 0)
  if (rows.length === 0) return null
  const uses = certificateUses.filter(([use]) => rows.some(({ ends }) => ends.has(use)))
  return (
    <section aria-labelledby="certificates">
      <h2 id="certificates">Certificates expire in</h2>
      <table>
        <thead>
          <tr>
            <th>service</th>
            {uses.map(([use, label]) => (
              <th key={use} className="right">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ role, ends }) => (
            <tr key={role}>
              <th scope="row">{role}</th>
              {uses.map(([use]) => (
                <td key={use} className="right">
                  {endText(ends.get(use))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const endText = (ms: number | undefined): string =>
  ms === undefined ? 'none' : ms < 0 ? 'expired' : formatSpan(ms)
