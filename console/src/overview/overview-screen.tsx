import type { ServedFigures } from '@svc/domain/preview'
import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { ClockBar, FutureDatasources, FutureSummary, FutureTiers, useFuture } from '../clock/index.ts'
import {
  maxCountedTasks,
  type UnfinishedTaskCounts,
  useCaller,
  useClusterState,
  useDataServers,
  useDuties,
  useInventory,
  useLoadQueues,
  useMetrics,
  useSegmentsToLoad,
  useServerCertificates,
  useServerProblems,
  useTasks,
  useUnfinishedTasks,
} from '../cluster/index.ts'
import { IngestHint } from '../ingest-hint/index.ts'
import { datasourceAddress } from '../location.ts'
import { hasCluster } from '../session/index.ts'
import { useOpenedSnapshot } from '../snapshot/index.ts'
import { sumOf } from '../sum-of.ts'
import { Empty, formatMinute, Name, Notice, Problem, tierColors, visible } from '../ui/index.ts'
import type { InventoryFigures } from '../web-worker/index.ts'
import {
  type Concern,
  certificateConcerns,
  certificateEnds,
  dutyConcerns,
  queueConcerns,
  serverConcerns,
  stateConcerns,
  stateText,
  taskConcerns,
  tierConcerns,
} from './concerns.ts'
import { RuleChanges } from './rule-changes.tsx'
import { Certificates, Services } from './services.tsx'
import { TierFills } from './tier-fills.tsx'

/** What the cluster is doing, in sentences. */
export function OverviewScreen() {
  const inventory = useInventory()
  const future = useFuture()
  const { data: caller } = useCaller()
  if (inventory.error && !inventory.data)
    return (
      <Empty title="Failed to load the cluster inventory">
        <p>{inventory.error.message}</p>
      </Empty>
    )
  if (!inventory.data) return <Empty title="Loading…" />
  const { data } = inventory
  const isAllowed = hasCluster() && caller?.state.read === true
  if (future.isFuture) return <FutureOverview {...future} />
  return (
    <div className="page overview">
      <div className="row between">
        <h1>Overview</h1>
        {data.isLocal && <ClockBar />}
      </div>
      {!data.isLocal && <LeftOut canReadState={isAllowed} />}
      <Lead inventory={data} canReadState={isAllowed} />
      {isAllowed && <Attention inventory={data} />}
      {hasCluster() ? (
        !isAllowed && <OwnAttention inventory={data} />
      ) : (
        <>
          <SnapshotAttention inventory={data} />
          <SnapshotNotes />
        </>
      )}
      <div className="columns">
        {(data.isLocal || isAllowed) && <TiersSection inventory={data} />}
        {isAllowed && <Services />}
        {isAllowed && <RuleChanges inventory={data} />}
        {isAllowed && <Certificates />}
      </div>
    </div>
  )
}

/** What the stored rules will have done at the time that the page shows. */
function FutureOverview({ answer, error }: ReturnType<typeof useFuture>) {
  return (
    <div className="page overview future">
      <div className="row between">
        <h1>Overview</h1>
        <ClockBar />
      </div>
      {error && <Problem>The preview failed: {error.message}</Problem>}
      {answer && (
        <>
          <FutureSummary answer={answer} />
          <div className="columns">
            <section aria-labelledby="future-datasources">
              <h2 id="future-datasources">Datasources</h2>
              <FutureDatasources answer={answer} />
            </section>
            <section aria-labelledby="future-tiers">
              <h2 id="future-tiers">Tiers</h2>
              <FutureTiers answer={answer} />
            </section>
          </div>
        </>
      )}
    </div>
  )
}

/** What a user who may not read everything does not see here. */
const LeftOut = ({ canReadState }: { readonly canReadState: boolean }) => (
  <Notice kind="warning">
    You cannot read everything in this cluster. Datasources for which you do not have READ are left out.
    {!canReadState &&
      ' Services, tiers, load queues, duty runs, recent rule changes, and certificates are left out because they require READ on STATE.'}
  </Notice>
)

/** What there is, and what is happening to it. */
function Lead({
  inventory,
  canReadState,
}: {
  readonly inventory: InventoryFigures
  readonly canReadState: boolean
}) {
  const { datasources, tiers, isLocal } = inventory
  const segments = sumOf(datasources, (one) => one.segments)
  const bytes = sumOf(datasources, (one) => one.bytes)
  const servers = sumOf(tiers, (one) => one.servers)
  return (
    <section aria-label="State" className="lead">
      <p className="sentence">
        {datasources.length === 0 ? (
          nothingText(isLocal)
        ) : (
          <>
            {!isLocal && 'You can read '}
            <Link href="/datasources">{countOf(datasources.length, 'datasource')}</Link> with{' '}
            {countOf(segments, isLocal || canReadState ? 'segment' : 'served segment')} ({formatBytes(bytes)})
            {(isLocal || canReadState) && (
              <>
                , on {countOf(servers, 'server')} in{' '}
                <Link href="/tiers">{countOf(tiers.length, 'tier')}</Link>
              </>
            )}
            .
          </>
        )}
      </p>
      {datasources.length === 0 && isLocal && hasCluster() && <IngestHint />}
      {canReadState && <Activity />}
      {!canReadState && hasCluster() && datasources.length > 0 && <OwnTasks inventory={inventory} />}
    </section>
  )
}

const nothingText = (isComplete: boolean): string => {
  if (!hasCluster()) return 'This snapshot has no data.'
  return isComplete
    ? 'This cluster has no data yet. To load a file:'
    : 'There are no datasources that you can read.'
}

const theseText = (datasources: number): string =>
  datasources === 1 ? 'this datasource' : 'these datasources'

/** What the tasks of the datasources that the user may read are doing now. */
function OwnTasks({ inventory: { datasources } }: { readonly inventory: InventoryFigures }) {
  const { data: tasks } = useUnfinishedTasks()
  return (
    <p className="sentence" role="status">
      {tasks && tasksText(tasks, ` of ${theseText(datasources.length)}`)}
    </p>
  )
}

/** What the cluster is doing now. */
function Activity() {
  const { data: state } = useClusterState()
  const { data: queues } = useLoadQueues()
  const { data: tasks } = useUnfinishedTasks()
  const sum = (of: 'segmentsToLoad' | 'segmentsToDrop' | 'segmentsToLoadSize') =>
    sumOf(Object.values(queues ?? {}), (queue) => queue[of])
  const [loads, drops] = [sum('segmentsToLoad'), sum('segmentsToDrop')]
  return (
    <p className="sentence" role="status">
      {state && stateText(state, loads + drops > 0)}
      {loads + drops > 0 &&
        ` Servers must still load ${countOf(loads, 'replica')} (${formatBytes(sum('segmentsToLoadSize'))}) and drop ${formatCount(drops)}.`}
      {tasks && ` ${tasksText(tasks)}`}
    </p>
  )
}

function tasksText({ running, pending, waiting }: UnfinishedTaskCounts, whose = ''): string {
  const later = pending + waiting
  if (running + later === 0) return `No task${whose} is running.`
  const atLeast = (...counts: number[]) => (counts.includes(maxCountedTasks) ? 'at least ' : '')
  const now = `${atLeast(running) && 'At least '}${countOf(running, `task${whose} is`, `tasks${whose} are`)} running`
  return later === 0 ? `${now}.` : `${now}, and ${atLeast(pending, waiting)}${formatCount(later)} waiting.`
}

/** What needs attention, with where to look. */
function Attention({ inventory }: { readonly inventory: InventoryFigures }) {
  const { concerns, isComplete } = useConcerns()
  const unserved = lackingReplicas(inventory)
  if (concerns.length === 0 && unserved.length === 0) {
    return inventory.isLocal && isComplete ? <Notice kind="done">Nothing needs attention.</Notice> : null
  }
  return <ConcernList concerns={concerns} unserved={unserved} />
}

const lackingReplicas = ({ datasources }: InventoryFigures): readonly ServedFigures[] =>
  datasources.filter((one) => one.unserved > 0 || one.underReplicated > 0)

/** What needs attention in a snapshot: segments that lack replicas, and tiers that are almost full. */
function SnapshotAttention({ inventory }: { readonly inventory: InventoryFigures }) {
  const { data: servers } = useDataServers()
  const concerns = tierConcerns(servers ?? [])
  const unserved = lackingReplicas(inventory)
  if (concerns.length === 0 && unserved.length === 0) return null
  return <ConcernList concerns={concerns} unserved={unserved} />
}

/** What needs attention in the datasources that a user may read who may not read the state of the cluster. */
function OwnAttention({ inventory: { datasources } }: { readonly inventory: InventoryFigures }) {
  const names = datasources.slice(0, maxChecked).map(({ name }) => name)
  const load = useSegmentsToLoad(names)
  const tasks = useTasks(maxTasks)
  const concerns = [
    ...concernsOfChecks([
      ['The load status', load],
      ['The tasks', tasks],
    ]),
    ...taskConcerns(tasks.data ?? [], maxTasks),
  ]
  const unserved = (load.data ?? []).flatMap(([name, segments]) =>
    segments > 0 ? [{ name, unserved: segments, underReplicated: 0 }] : [],
  )
  if (concerns.length > 0 || unserved.length > 0)
    return <ConcernList concerns={concerns} unserved={unserved} />
  if (names.length === 0 || !load.data || !tasks.data) return null
  return (
    <Notice kind="done">
      All segments of{' '}
      {datasources.length > maxChecked
        ? `the first ${maxChecked} datasources`
        : theseText(datasources.length)}{' '}
      are served, and no task failed within the last day.
    </Notice>
  )
}

function ConcernList({
  concerns,
  unserved,
}: {
  readonly concerns: readonly Concern[]
  readonly unserved: readonly Pick<ServedFigures, 'name' | 'unserved' | 'underReplicated'>[]
}) {
  return (
    <section aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      <ul className="concerns">
        {concerns.map(({ text, href }) => (
          <li key={text}>
            {visible(text)} {href && <Link href={href}>Show</Link>}
          </li>
        ))}
        {unserved.slice(0, 20).map((one) => (
          <li key={one.name}>
            <Link href={datasourceAddress(one.name)}>
              <Name>{one.name}</Name>
            </Link>
            {unservedText(one.unserved, one.underReplicated)}
          </li>
        ))}
        {unserved.length > 20 && <li>{formatCount(unserved.length - 20)} more datasources</li>}
      </ul>
    </section>
  )
}

function unservedText(unserved: number, underReplicated: number): ReactNode {
  const parts = [
    unserved > 0 && `${countOf(unserved, 'segment')} not served`,
    underReplicated > 0 && `${formatCount(underReplicated)} under-replicated`,
  ]
  return `: ${parts.filter(Boolean).join(', ')}`
}

// Each datasource takes a request, so more are not checked.
const maxChecked = 50

// Number of the newest tasks that are searched for failures.
const maxTasks = 100

/** Returns which checks failed, and why. */
const concernsOfChecks = (
  checks: readonly (readonly [what: string, query: { readonly error: Error | null }])[],
): Concern[] =>
  checks.flatMap(([what, { error }]) =>
    error ? [{ text: `${what} could not be checked: ${error.message}` }] : [],
  )

/** What needs attention, as far as it is known, and whether everything has been checked. */
function useConcerns(): { readonly concerns: readonly Concern[]; readonly isComplete: boolean } {
  const state = useClusterState()
  const metrics = useMetrics()
  const problems = useServerProblems()
  const certificates = useServerCertificates()
  const servers = useDataServers()
  const duties = useDuties()
  const tasks = useTasks(maxTasks)
  const checks = [
    ['The state of the cluster', state],
    ['The metrics of the servers', metrics],
    ['The servers', problems],
    ['The certificates', certificates],
    ['The load on the servers', servers],
    ['The duties', duties],
    ['The tasks', tasks],
  ] as const
  const measured = metrics.data ?? new Map()
  return {
    concerns: [
      ...concernsOfChecks(checks),
      ...(state.data ? stateConcerns(state.data) : []),
      ...serverConcerns(problems.data ?? []),
      ...(certificates.data ? certificateConcerns(certificateEnds(certificates.data, measured)) : []),
      ...queueConcerns(measured),
      ...tierConcerns(servers.data ?? []),
      ...dutyConcerns(duties.data ?? {}),
      ...taskConcerns(tasks.data ?? [], maxTasks),
    ],
    isComplete: checks.every(([, { isPending }]) => !isPending),
  }
}

/** What to know about a snapshot before using its numbers. */
function SnapshotNotes() {
  const opened = useOpenedSnapshot()
  const { data: inventory } = useInventory()
  if (!opened || !inventory) return null
  return (
    <>
      <p className="dim">
        Rules are evaluated at {formatMinute(inventory.now)}, the time at which the snapshot was opened.
        {!opened.hasPlacement &&
          ' The snapshot does not say which server serves which segment, so the console assumes that replicas are where the rules require them.'}
      </p>
      {opened.problemCount > 0 && (
        <section aria-labelledby="problems">
          <h2 id="problems">{countOf(opened.problemCount, 'unreadable part')} left out</h2>
          <ul className="concerns">
            {opened.problems.map((problem) => (
              <li key={problem}>{visible(problem)}</li>
            ))}
            {opened.problemCount > opened.problems.length && (
              <li>{formatCount(opened.problemCount - opened.problems.length)} more</li>
            )}
          </ul>
        </section>
      )}
    </>
  )
}

function TiersSection({ inventory }: { readonly inventory: InventoryFigures }) {
  const { data: servers } = useDataServers()
  const colors = tierColors(inventory.tiers.map(({ name }) => name))
  return (
    <section aria-labelledby="tiers">
      <h2 id="tiers">Tiers</h2>
      {servers && servers.length === 0 && (
        <p className="hint">
          {hasCluster() ? 'No historical has reported yet.' : 'This snapshot does not contain any servers.'}
        </p>
      )}
      {servers && <TierFills servers={servers} colors={colors} />}
    </section>
  )
}
