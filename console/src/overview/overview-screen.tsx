import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import {
  type ClusterNode,
  useAllRuleChanges,
  useClusterNodes,
  useClusterState,
  useDataServers,
  useInventory,
  useLeaders,
} from '../cluster/index.ts'
import type { InventoryFigures } from '../preview/index.ts'
import { Empty, formatAge, Name, Notice, tierColors } from '../ui/index.ts'
import { TierFills } from './tier-fills.tsx'

/** What the cluster is doing, in sentences. */
export function OverviewScreen() {
  const inventory = useInventory()
  if (inventory.error && !inventory.data)
    return (
      <Empty title="The cluster cannot be shown">
        <p>{inventory.error.message}</p>
      </Empty>
    )
  if (!inventory.data) return <Empty title="Loading" />
  return (
    <div className="page overview">
      <h1>Overview</h1>
      {inventory.data.isLocal ? (
        <Doing inventory={inventory.data} />
      ) : (
        <Notice kind="warning">
          You cannot read everything in this cluster, so only your{' '}
          {countOf(inventory.data.datasources.length, 'datasource')} and their previews are shown.
        </Notice>
      )}
      <Concerns inventory={inventory.data} />
      <div className="columns">
        <TiersSection inventory={inventory.data} />
        <Services />
        <Changes inventory={inventory.data} />
      </div>
    </div>
  )
}

function Doing({ inventory }: { readonly inventory: InventoryFigures }) {
  const { data: state } = useClusterState()
  const segments = inventory.datasources.reduce((sum, one) => sum + Math.max(0, one.segments), 0)
  const bytes = inventory.datasources.reduce((sum, one) => sum + one.bytes, 0)
  const servers = inventory.tiers.reduce((sum, one) => sum + one.servers, 0)
  const doing =
    state === undefined
      ? ''
      : state.settled
        ? 'The cluster is settled: every replica is where the rules require it, and all load queues are empty.'
        : state.known
          ? 'The cluster is loading, moving, or dropping replicas to match the rules.'
          : 'The leader is waiting for servers to report.'
  return (
    <section aria-label="State" className="lead">
      <p className="sentence">
        {inventory.datasources.length === 0 ? (
          'This cluster has no data yet.'
        ) : (
          <>
            <Link href="/datasources">{countOf(inventory.datasources.length, 'datasource')}</Link> with{' '}
            {countOf(segments, 'segment')} ({formatBytes(bytes)}), on {countOf(servers, 'server')} in{' '}
            <Link href="/tiers">{countOf(inventory.tiers.length, 'tier')}</Link>.
          </>
        )}
      </p>
      <p className="sentence" role="status">
        {doing}
      </p>
      {inventory.datasources.length === 0 && (
        <pre>./svc ingest data/flights.csv --datasource flights --timestamp time --wait-loaded</pre>
      )}
    </section>
  )
}

/** What needs attention, with where to look. */
function Concerns({ inventory }: { readonly inventory: InventoryFigures }) {
  const { data: state } = useClusterState()
  const concerned = inventory.datasources.filter(
    ({ unserved, underReplicated }) => unserved > 0 || underReplicated > 0,
  )
  const texts: ReactNode[] = [
    ...(state?.known === false || state?.settled === false ? state.reasons : []),
    ...(state?.shortages ?? []),
  ]
  if (concerned.length === 0 && texts.length === 0) return null
  return (
    <section aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      <ul className="concerns">
        {texts.map((text) => (
          <li key={String(text)}>{text}</li>
        ))}
        {concerned.slice(0, 20).map(({ name, unserved, underReplicated }) => (
          <li key={name}>
            <Link href={`/datasources/${encodeURIComponent(name)}`}>
              <Name>{name}</Name>
            </Link>
            {unserved > 0 && `: ${countOf(unserved, 'segment')} not served`}
            {underReplicated > 0 &&
              `${unserved > 0 ? ',' : ':'} ${formatCount(underReplicated)} under-replicated`}
          </li>
        ))}
      </ul>
    </section>
  )
}

function TiersSection({ inventory }: { readonly inventory: InventoryFigures }) {
  const { data: servers } = useDataServers()
  const colors = tierColors(inventory.tiers.map(({ name }) => name))
  return (
    <section aria-labelledby="tiers">
      <h2 id="tiers">Tiers</h2>
      {servers && servers.length === 0 && <p className="hint">No historical has reported yet.</p>}
      {servers && <TierFills servers={servers} colors={colors} />}
    </section>
  )
}

function Changes({ inventory }: { readonly inventory: InventoryFigures }) {
  const { data: changes } = useAllRuleChanges()
  if (!changes || changes.length === 0) return null
  return (
    <section aria-labelledby="changes">
      <h2 id="changes">Recent rule changes</h2>
      <ul className="history">
        {changes.map(({ key, auditInfo, auditTime }) => (
          <li key={`${key} ${auditTime}`}>
            <span className="dim numbers">{formatAge(inventory.now - Date.parse(auditTime))}</span>
            <span>
              {key === '_default' ? (
                'cluster defaults'
              ) : (
                <Link href={`/datasources/${encodeURIComponent(key)}`}>
                  <Name>{key}</Name>
                </Link>
              )}{' '}
              by <Name>{auditInfo.author || auditInfo.identity}</Name>
              {auditInfo.comment && (
                <span className="dim">
                  : “<bdi>{auditInfo.comment}</bdi>”
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const roles = ['router', 'coordinator', 'overlord', 'broker', 'historical', 'indexer', 'worker']

function Services() {
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
