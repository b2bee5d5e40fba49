import { countOf } from '@svc/domain/text'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useParams } from 'wouter'
import { ClockBar, FutureTiers, useFuture } from '../clock/index.ts'
import {
  type DataServer,
  type QueueSize,
  type ServerActivity,
  useCaller,
  useDataServers,
  useLoadQueues,
  useServerActivity,
} from '../cluster/index.ts'
import { nameInAddress } from '../location.ts'
import { TierFills } from '../overview/index.ts'
import { byNumberedName, Empty, TierName, tierColors, useWidth } from '../ui/index.ts'
import { fillOf } from './fill-of.ts'
import { ServerCard } from './server-card.tsx'
import { canExplainServers, ServerDialog } from './server-dialog.tsx'
import { ServerMap } from './server-map.tsx'
import { type ServerFate, useServerChanges } from './use-server-changes.ts'
import { WhatIf } from './what-if.tsx'
import './tiers.css'

// One object, so that it is equal to itself at the next rendering.
const nothing = {}

type Order = 'tier' | 'fill' | 'queue' | 'failures'

/** All tiers and their servers: how full they are, and what they still have to load and drop. */
export function TiersScreen() {
  const { data: caller } = useCaller()
  if (caller?.state.read === false)
    return (
      <Empty title="Missing permission">
        <p>Showing servers requires READ on STATE.</p>
      </Empty>
    )
  return caller === undefined ? <Empty title="Loading…" /> : <Readable />
}

function Readable() {
  const servers = useDataServers()
  const { data: queues } = useLoadQueues()
  const { data: activity } = useServerActivity()
  const [selected, setSelected] = useState<string>()
  const [order, setOrder] = useState<Order>('tier')
  if (servers.error && !servers.data)
    return (
      <Empty title="Failed to load the servers">
        <p>{servers.error.message}</p>
      </Empty>
    )
  if (!servers.data) return <Empty title="Loading…" />
  if (servers.data.length === 0)
    return (
      <Empty title="No server has reported yet">
        <p>Historicals load segments. To start a cluster with historicals:</p>
        <pre>./svc up --historicals hot=1,_default_tier=1</pre>
      </Empty>
    )
  return (
    <Loaded
      servers={servers.data}
      queues={queues ?? nothing}
      activity={activity ?? nothing}
      selected={selected}
      onSelect={setSelected}
      order={order}
      onOrder={setOrder}
    />
  )
}

interface LoadedInput {
  readonly servers: readonly DataServer[]
  readonly queues: Readonly<Record<string, QueueSize>>
  readonly activity: Readonly<Record<string, ServerActivity>>
  readonly selected: string | undefined
  onSelect(tier: string | undefined): void
  readonly order: Order
  onOrder(order: Order): void
}

function Loaded({ servers, queues, activity, selected, onSelect, order, onOrder }: LoadedInput) {
  const colors = useMemo(() => tierColors(servers.map(({ tier }) => tier)), [servers])
  const future = useFuture()
  const whatIf = useServerChanges()
  const [explained, setExplained] = useState<DataServer>()
  const tiers = [...colors.keys()].sort()
  const ordered = useOrder(servers, order, { queues, activity })
  const shown = useMemo(
    () => ordered.filter(({ tier }) => selected === undefined || tier === selected),
    [ordered, selected],
  )
  return (
    <div className={future.isFuture ? 'page future' : 'page'}>
      <div className="row between">
        <h1>Tiers and servers</h1>
        <ClockBar />
      </div>
      {future.answer ? (
        <FutureTiers answer={future.answer} />
      ) : whatIf.preview ? (
        <WhatIf whatIf={whatIf} preview={whatIf.preview} servers={servers} colors={colors} />
      ) : (
        <TierFills servers={servers} colors={colors} />
      )}
      {future.isFuture && <p className="hint">The servers below are shown as they are now.</p>}
      <div className="row between">
        <fieldset className="row choices">
          <legend className="unseen">Tier</legend>
          <button
            type="button"
            className="chip"
            aria-pressed={selected === undefined}
            onClick={() => onSelect(undefined)}
          >
            All tiers
          </button>
          {tiers.map((tier) => (
            <button
              key={tier}
              type="button"
              className="chip"
              aria-pressed={selected === tier}
              onClick={() => onSelect(tier)}
            >
              <TierName tier={tier} colors={colors} />
            </button>
          ))}
        </fieldset>
        <OrderChoice order={order} onOrder={onOrder} />
      </div>
      <ServerGrid
        servers={shown}
        queues={queues}
        activity={activity}
        colors={colors}
        onExplain={canExplainServers() ? setExplained : undefined}
        fateOf={future.isFuture || !whatIf.preview ? undefined : whatIf.fateOf}
        onFate={whatIf.setFate}
      />
      {explained && (
        <ServerDialog key={explained.host} server={explained} onClose={() => setExplained(undefined)} />
      )}
    </div>
  )
}

function OrderChoice({ order, onOrder }: Pick<LoadedInput, 'order' | 'onOrder'>) {
  return (
    <label className="row">
      Sort by
      <select value={order} onChange={(event) => onOrder(event.target.value as Order)}>
        <option value="tier">tier and name</option>
        <option value="fill">fill</option>
        <option value="queue">load queue</option>
        <option value="failures">failed loads</option>
      </select>
    </label>
  )
}

/** The servers in an order. They keep their places while their numbers change, so that nothing jumps. */
function useOrder(
  servers: readonly DataServer[],
  order: Order,
  state: Pick<LoadedInput, 'queues' | 'activity'>,
): readonly DataServer[] {
  const hosts = servers.map(({ host }) => host).join('\n')
  const sortedHosts = useMemo(
    () => sorted(servers, order, state).map(({ host }) => host),
    // Only other servers, or another order, change the places.
    [hosts, order],
  )
  return useMemo(() => {
    const byHost = new Map(servers.map((server) => [server.host, server]))
    return sortedHosts.flatMap((host) => byHost.get(host) ?? [])
  }, [servers, sortedHosts])
}

function sorted(
  servers: readonly DataServer[],
  order: Order,
  { queues, activity }: Pick<LoadedInput, 'queues' | 'activity'>,
): DataServer[] {
  // Other servers than historicals have no tier of their own.
  const isOther = ({ type }: DataServer) => Number(type !== 'historical')
  const byName = (a: DataServer, b: DataServer) =>
    isOther(a) - isOther(b) || byNumberedName(a.tier, b.tier) || byNumberedName(a.host, b.host)
  const amountOf: Readonly<Record<Order, (server: DataServer) => number>> = {
    tier: () => 0,
    fill: fillOf,
    queue: ({ host }) => (queues[host]?.segmentsToLoad ?? 0) + (queues[host]?.segmentsToDrop ?? 0),
    failures: ({ host }) => activity[host]?.failedLoads ?? 0,
  }
  const amount = amountOf[order]
  return servers.toSorted((a, b) => amount(b) - amount(a) || byName(a, b))
}

// From this number of servers, all of them are also shown at a glance.
const minMapped = 25
const cardHeight = 128
// Without explanations and load rates, as in a snapshot.
const shortCardHeight = 104
const minCardWidth = 270
const maxCardsPerRow = 4

interface GridInput {
  readonly servers: readonly DataServer[]
  readonly queues: LoadedInput['queues']
  readonly activity: LoadedInput['activity']
  /** Shows why a server is in its state; undefined if that is unknown. */
  readonly onExplain: ((server: DataServer) => void) | undefined
  readonly colors: ReadonlyMap<string, number>
  /** What is assumed about a server; undefined if nothing can be assumed. */
  readonly fateOf: ((host: string) => ServerFate | undefined) | undefined
  onFate(host: string, fate: ServerFate): void
}

/** The servers as cards, of which only the visible ones exist. */
function ServerGrid(input: GridInput) {
  const { servers, queues, activity, colors, onExplain } = input
  const box = useRef<HTMLDivElement>(null)
  const { server } = useParams<{ readonly server?: string }>()
  const searched = server === undefined ? undefined : nameInAddress(server)
  const [found, setFound] = useState(searched)
  const width = useWidth(box)
  const fitting = width === 0 ? maxCardsPerRow : Math.floor(width / minCardWidth)
  const cardsPerRow = Math.max(1, Math.min(maxCardsPerRow, fitting))
  const rows = useVirtualizer({
    count: Math.ceil(servers.length / cardsPerRow),
    getScrollElement: () => box.current,
    estimateSize: () => (onExplain ? cardHeight : shortCardHeight) + 8,
    overscan: 4,
  })
  const isMeasured = width > 0
  useEffect(() => {
    const index = servers.findIndex(({ host }) => host === searched)
    setFound(searched)
    if (isMeasured && index >= 0) rows.scrollToIndex(Math.floor(index / cardsPerRow), { align: 'center' })
    // Only a search scrolls: the list stays where it is when servers change.
  }, [searched, isMeasured])
  return (
    <>
      {servers.length >= minMapped && (
        <ServerMap
          servers={servers}
          queues={queues}
          activity={activity}
          colors={colors}
          onSelect={(index) => {
            setFound(servers[index]!.host)
            rows.scrollToIndex(Math.floor(index / cardsPerRow), { align: 'center' })
            box.current?.scrollIntoView({ block: 'nearest' })
          }}
        />
      )}
      <div
        ref={box}
        className={onExplain ? 'scroll servers' : 'scroll servers short'}
        tabIndex={0}
        role="group"
        aria-label={countOf(servers.length, 'server')}
      >
        <div style={{ height: rows.getTotalSize() }} className="virtual">
          {rows.getVirtualItems().map(({ index, start }) => (
            <div
              key={index}
              className="card-row"
              style={{
                transform: `translateY(${start}px)`,
                gridTemplateColumns: `repeat(${cardsPerRow}, minmax(0, 1fr))`,
              }}
            >
              {servers.slice(index * cardsPerRow, (index + 1) * cardsPerRow).map((server) => (
                <GridCard key={server.host} server={server} isFound={server.host === found} grid={input} />
              ))}
            </div>
          ))}
        </div>
      </div>
    </>
  )
}

/** The card of a server, with its part of what the grid shows. */
function GridCard({
  server,
  isFound,
  grid: { queues, activity, colors, onExplain, fateOf, onFate },
}: {
  readonly server: DataServer
  readonly isFound: boolean
  readonly grid: GridInput
}) {
  const { host, tier, type } = server
  const isHistorical = type === 'historical'
  return (
    <ServerCard
      server={server}
      queue={queues[host]}
      activity={activity[host]}
      color={isHistorical ? colors.get(tier) : undefined}
      isFound={isFound}
      fate={fateOf?.(host)}
      onExplain={onExplain}
      onFate={fateOf && isHistorical ? onFate : undefined}
    />
  )
}
