import { countOf, formatBytes } from '@svc/domain/text'
import { useEffect, useMemo, useState } from 'react'
import { ClockOfCluster, PresentNotice } from '../clock/index.ts'
import {
  useCaller,
  useCalls,
  useClusterState,
  useFaults,
  useInventory,
  useLoadQueues,
} from '../cluster/index.ts'
import { sumOf } from '../sum-of.ts'
import { Empty, usePanelFocus, visible } from '../ui/index.ts'
import { FaultForm, type FaultPlace } from './fault-form.tsx'
import { FaultList } from './fault-list.tsx'
import { lackingText } from './recovery-events.ts'
import { nameOf, Topology } from './topology.tsx'
import { topologyOf } from './topology-layout.ts'
import { type RecoveryEvent, useRecoveryEvents, useTopologyServers } from './use-observations.ts'

/** The servers and their calls, faults to inject into them, and how the cluster recovers. */
export function FaultsScreen() {
  const { data: caller } = useCaller()
  if (!caller) return <Empty title="Loading…" />
  if (!caller.simulation) return <NotSimulated />
  if (!caller.state.read)
    return (
      <Empty title="Missing permission">
        <p>This page requires READ on STATE.</p>
      </Empty>
    )
  return <Loaded canWrite={caller.state.write} />
}

const NotSimulated = () => (
  <Empty title="Faults can be injected only into a simulation">
    <p>
      Use this page to slow down, cut off, or kill servers, and watch how the cluster recovers. Try it on a
      cluster without valuable data:
    </p>
    <pre>./svc up --home /tmp/rehearsal --port-offset 1000 --set svc.simulation.enabled=true</pre>
  </Empty>
)

function Loaded({ canWrite }: { readonly canWrite: boolean }) {
  const faults = useFaults()
  const calls = useCalls(true)
  const servers = useTopologyServers()
  const events = useRecoveryEvents(servers, faults.data)
  const [selected, setSelected] = useState<string>()
  const panel = usePanelFocus(selected)
  const now = useSeconds()
  const topology = useMemo(() => topologyOf(servers ?? [], calls.data?.calls ?? []), [servers, calls.data])
  if (faults.error && !faults.data)
    return (
      <Empty title="Failed to load the faults">
        <p>{faults.error.message}</p>
      </Empty>
    )
  if (!servers || !faults.data) return <Empty title="Loading…" />
  const place = placeOf(topology, selected)
  return (
    <div className="datasource">
      <div className="picture">
        <div className="row between">
          <h1>Faults</h1>
          <ClockOfCluster />
        </div>
        <PresentNotice what="faults" />
        <State />
        <section className="panel" aria-label="Servers and calls">
          <Topology
            topology={topology}
            faults={faults.data}
            selected={selected}
            now={now}
            onSelect={setSelected}
          />
        </section>
        <FaultList faults={faults.data} now={now} canEnd={canWrite} />
        <Events events={events} />
      </div>
      <aside ref={panel} tabIndex={-1} aria-label="Fault">
        {place ? (
          <>
            <h2>{place.kind === 'node' ? nameOf(place.node) : 'Calls between servers'}</h2>
            {canWrite ? (
              <FaultForm key={selected} place={place} />
            ) : (
              <p className="hint">Injecting faults requires WRITE on STATE.</p>
            )}
          </>
        ) : (
          <p className="dim">
            {canWrite
              ? 'Choose a server, or an arrow between two servers, to slow it down, cut it off, or kill it.'
              : 'Injecting faults requires WRITE on STATE.'}
          </p>
        )}
      </aside>
    </div>
  )
}

function placeOf(
  { nodes, edges }: ReturnType<typeof topologyOf>,
  selected: string | undefined,
): FaultPlace | undefined {
  const node = nodes.find(({ key }) => key === selected)
  if (node) return { kind: 'node', node }
  const edge = edges.find(({ key }) => key === selected)
  return edge && { kind: 'edge', edge }
}

/** Returns the time of this browser, every second. Faults end in real time, even if the clock of the cluster is simulated. */
function useSeconds(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return now
}

/** Whether the cluster has what it needs, and what it is doing about what is missing. */
function State() {
  const { data: state } = useClusterState()
  const { data: queues } = useLoadQueues()
  const { data: inventory } = useInventory()
  if (!state || !inventory) return <p className="sentence">&nbsp;</p>
  const unserved = sumOf(inventory.datasources, (one) => one.unserved)
  const lacking = sumOf(inventory.datasources, (one) => one.underReplicated)
  const loads = sumOf(Object.values(queues ?? {}), (one) => one.segmentsToLoad)
  const bytes = sumOf(Object.values(queues ?? {}), (one) => one.segmentsToLoadSize)
  const parts = [
    state.settled ? 'The cluster is settled.' : state.known && 'The cluster is changing.',
    !state.known && waitingText(state.reasons),
    state.known &&
      (unserved === 0
        ? 'Every segment is served.'
        : `${countOf(unserved, 'segment is', 'segments are')} not served.`),
    lacking > 0 && lackingText(lacking),
    ...state.shortages.map((shortage) => `${visible(shortage)}.`),
    loads > 0 && `Servers must still load ${countOf(loads, 'replica')} (${formatBytes(bytes)}).`,
  ]
  return (
    <p className="sentence" role="status">
      {parts.filter(Boolean).join(' ')}
    </p>
  )
}

/** Says what the leader is waiting for. */
const waitingText = (reasons: readonly string[]): string =>
  reasons.length === 0
    ? 'The leader is waiting for servers to report.'
    : reasons.map((reason) => `${visible(reason)}.`).join(' ')

/** What happened while the page was open. */
const Events = ({ events }: { readonly events: readonly RecoveryEvent[] }) => (
  <section aria-labelledby="events-title">
    <h2 id="events-title">What happened while this page was open</h2>
    {events.length === 0 && (
      <p className="dim">Nothing yet. Inject a fault to watch the cluster recover here.</p>
    )}
    <ul className="recovery">
      {events.map(({ id, at, text }) => (
        <li key={id}>
          <span className="dim numbers">{new Date(at).toISOString().slice(11, 19)}</span>
          <span>{text}</span>
        </li>
      ))}
    </ul>
  </section>
)
