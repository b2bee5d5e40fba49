import { formatCount } from '@svc/domain/text'
import {
  type ClusterNode,
  useClusterNodes,
  useLeaders,
  useMetrics,
  useServerCertificates,
  useServerProblems,
} from '../cluster/index.ts'
import { formatSpan, Name } from '../ui/index.ts'
import { certificateEnds, laterText } from './concerns.ts'

const roles = ['router', 'coordinator', 'overlord', 'broker', 'historical', 'indexer', 'worker']

// More servers of a role are only counted.
const maxNamed = 4

/** The servers by role, and the leaders. */
export function Services() {
  const { data: nodes } = useClusterNodes()
  const { data: leaders } = useLeaders()
  const { data: problems = [] } = useServerProblems()
  if (!nodes) return null
  const found = new Set([
    ...Object.keys(nodes).filter((role) => nodes[role]!.length > 0),
    ...problems.map(({ role }) => role),
  ])
  const known = [...new Set([...roles, ...found])].filter((role) => found.has(role))
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
                <Servers nodes={nodes[role] ?? []} leaders={leaders ?? []} />
                {problems
                  .filter((one) => one.role === role)
                  .slice(0, maxNamed)
                  .map(({ server, state, problem }) => (
                    <div key={server} className="numbers" title={problem}>
                      {server}
                      <span className="pill future leader">
                        {state === 'missing' ? 'missing' : 'not ready'}
                      </span>
                    </div>
                  ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

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

const maxCertificates = 8

/** When the certificates of all servers expire, soonest first. */
export function Certificates() {
  const { data: certificates } = useServerCertificates()
  const { data: metrics } = useMetrics()
  const ends = certificates === undefined ? [] : certificateEnds(certificates, metrics ?? new Map())
  if (ends.length === 0) return null
  return (
    <section aria-labelledby="certificates">
      <h2 id="certificates">Certificates expire in</h2>
      <table>
        <thead>
          <tr>
            <th>of</th>
            <th>used as</th>
            <th className="right">expires in</th>
          </tr>
        </thead>
        <tbody>
          {ends.slice(0, maxCertificates).map(({ owner, use, leftMs }) => (
            <tr key={`${use} ${owner}`}>
              <th scope="row">
                <Name>{owner}</Name>
              </th>
              <td>{use}</td>
              <td className={leftMs === undefined || leftMs > 0 ? 'right' : 'right future-text'}>
                {leftMs === undefined ? 'unreachable' : leftMs < 0 ? 'expired' : formatSpan(leftMs)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {ends.length > maxCertificates && <p className="hint">{laterText(ends.length - maxCertificates)}</p>}
    </section>
  )
}
