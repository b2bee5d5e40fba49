import { countOf, formatBytes } from '@svc/domain/text'
import { type ClusterCompactionJson, useClusterCompaction, useCompactionPreview } from '../cluster/index.ts'
import { formatDays, Name, Problem } from '../ui/index.ts'

const policies = [
  ['newestSegmentFirst', 'Newest segments first'],
  ['mostFragmentedFirst', 'Most fragmented intervals first'],
] as const
const shown = 5

/** What the policies would compact first, next to each other. */
export function Policies() {
  const { data: cluster } = useClusterCompaction()
  if (!cluster) return null
  return (
    <section aria-labelledby="policies-title">
      <h2 id="policies-title">Policy comparison</h2>
      <p className="hint">
        Each task compacts one task interval, which can contain several of the segment intervals that await
        compaction.
      </p>
      <div className="columns">
        {policies.map(([type, label]) => (
          <Policy key={type} type={type} label={label} cluster={cluster} />
        ))}
      </div>
    </section>
  )
}

function Policy({
  type,
  label,
  cluster,
}: {
  readonly type: string
  readonly label: string
  readonly cluster: ClusterCompactionJson
}) {
  const isCurrent = cluster.compactionPolicy.type === type
  const { data, error } = useCompactionPreview({
    clusterConfig: { ...cluster, compactionPolicy: isCurrent ? cluster.compactionPolicy : { type } },
  })
  const first = (data?.candidates ?? []).filter((one) => one.eligible).slice(0, shown)
  const postponed = data?.candidates.find((one) => !one.eligible)
  return (
    <section aria-label={label}>
      <h3>
        {label} {isCurrent && <span className="pill leader">in use</span>}
      </h3>
      {error && <Problem>{error.message}</Problem>}
      {data && (
        <p className="dim">
          {data.eligible.intervals === 0
            ? 'No task interval is selected.'
            : `Selected: ${countOf(data.eligible.intervals, 'task interval')} (${formatBytes(data.eligible.bytes)}), in this order:`}
        </p>
      )}
      {data?.eligible.intervals === 0 && postponed && (
        <p className="dim">
          For example, <Name>{postponed.dataSource}</Name>, {formatDays(postponed.interval)}:{' '}
          <bdi>{postponed.reason}</bdi>.
        </p>
      )}
      <ol className="numbered">
        {first.map(({ dataSource, interval, bytes }) => (
          <li key={`${dataSource} ${interval}`}>
            <Name>{dataSource}</Name>, {formatDays(interval)}, {formatBytes(bytes)}
          </li>
        ))}
      </ol>
    </section>
  )
}
