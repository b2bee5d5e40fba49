import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import { useEffect, useEffectEvent, useMemo, useState } from 'react'
import { Link, useLocation, useRoute } from 'wouter'
import {
  type CompactionStatus,
  useCaller,
  useClusterCompaction,
  useCompactionPreview,
  useCompactionStatus,
  useInventory,
} from '../cluster/index.ts'
import { compactionAddress, datasourceAddress, nameInAddress } from '../location.ts'
import { Empty, formatDays, formatTime, Name, visible } from '../ui/index.ts'
import { type Calendar, calendarOf } from './calendar.ts'
import { ConfigPanel } from './config-panel.tsx'
import { HeatMap, type HeatMapCursor } from './heat-map.tsx'
import { Policies } from './policies.tsx'
import { Supervisors } from './supervisors.tsx'

/** What is compacted, what waits and why, and how to configure it. */
export function CompactionScreen() {
  const status = useCompactionStatus()
  const { data: inventory } = useInventory()
  const [cursor, setCursor] = useState<HeatMapCursor>()
  const statuses = useMemo(
    () => status.data?.toSorted((a, b) => (a.dataSource < b.dataSource ? -1 : 1)) ?? [],
    [status.data],
  )
  const names = (inventory?.datasources ?? []).map(({ name }) => name)
  const [dataSource, choose] = useSelection(status.data && (statuses[0]?.dataSource ?? names[0]))
  const calendar = useMemo(() => calendarOf(statuses), [statuses])
  if (status.error && !status.data)
    return (
      <Empty title="Compaction cannot be shown">
        <p>{status.error.message}</p>
      </Empty>
    )
  if (!status.data) return <Empty title="Loading" />
  const selectable = new Set([...statuses.map((one) => one.dataSource), ...names])
  if (dataSource !== undefined) selectable.add(dataSource)
  const move = (next: HeatMapCursor) => {
    setCursor(next)
    const row = calendar?.rows[next.row]
    if (row) choose(row.status.dataSource)
  }
  return (
    <div className="datasource">
      <div className="picture">
        <h1>Compaction</h1>
        <Summary statuses={statuses} />
        {calendar ? (
          <section className="panel" aria-label="Calendar">
            <Legend calendar={calendar} />
            <HeatMap calendar={calendar} cursor={cursor} onCursor={move} />
            <CellDetails calendar={calendar} cursor={cursor} />
          </section>
        ) : (
          <p className="dim">
            {statuses.length === 0
              ? 'No datasource is compacted. Choose one to configure it.'
              : 'The compacted datasources have no data yet.'}
          </p>
        )}
        <Policies />
        <Supervisors />
      </div>
      <aside aria-label="Configuration">
        <label>
          Datasource
          <select value={dataSource ?? ''} onChange={(event) => choose(event.target.value)}>
            {[...selectable].map((name) => (
              <option key={name} value={name}>
                {visible(name)}
              </option>
            ))}
          </select>
        </label>
        {dataSource !== undefined && <ConfigPanel key={dataSource} dataSource={dataSource} />}
      </aside>
    </div>
  )
}

/**
 * The selected datasource, which is part of the address, and a function that selects another one. The first one stays
 * selected if it is no longer the first, because it is no longer compacted.
 */
function useSelection(first: string | undefined) {
  const [, params] = useRoute('/compaction/:name')
  const [, navigate] = useLocation()
  const chosen = params === null ? undefined : nameInAddress(params.name)
  const choose = (dataSource: string) => navigate(compactionAddress(dataSource), { replace: true })
  const chooseFirst = useEffectEvent(choose)
  useEffect(() => {
    if (chosen === undefined && first !== undefined) chooseFirst(first)
  }, [chosen, first])
  return [chosen ?? first, choose] as const
}

// The default, which means that there is no limit.
const noSlotLimit = 2 ** 31 - 1

function Summary({ statuses }: { readonly statuses: readonly CompactionStatus[] }) {
  const { data: cluster } = useClusterCompaction()
  const sum = (of: (one: CompactionStatus) => number) => statuses.reduce((total, one) => total + of(one), 0)
  const awaiting = sum((one) => one.intervalCountAwaitingCompaction)
  return (
    <p className="sentence">
      Compaction covers {countOf(statuses.length, 'datasource')}.{' '}
      {awaiting === 0
        ? 'Nothing awaits compaction.'
        : `${countOf(awaiting, 'interval')} (${formatBytes(sum((one) => one.bytesAwaitingCompaction))}) ${awaiting === 1 ? 'awaits' : 'await'} compaction.`}
      {cluster &&
        ` Compaction uses at most ${cluster.maxCompactionTaskSlots === noSlotLimit ? '' : `${countOf(cluster.maxCompactionTaskSlots, 'task slot')}, and at most `}${Math.round(
          cluster.compactionTaskSlotRatio * 100,
        )}% of all task slots.`}
    </p>
  )
}

const legend = [
  ['full', 'compacted'],
  ['waiting', 'awaits compaction'],
  ['mixed', 'partly compacted'],
  ['skipped', 'skipped'],
] as const

function Legend({ calendar: { widthMs } }: { readonly calendar: Calendar }) {
  const days = widthMs / 86_400_000
  return (
    <div className="row between legend-row">
      <h2>By {days === 1 ? 'day' : days === 7 ? 'week' : `${days} days`}</h2>
      <ul className="legend">
        {legend.map(([kind, label]) => (
          <li key={kind}>
            <svg width={14} height={10} className="cells" aria-hidden="true">
              <rect className={kind} x={1} y={1} width={12} height={8} rx={2} />
            </svg>{' '}
            {label}
          </li>
        ))}
      </ul>
    </div>
  )
}

const stateTexts = { awaiting: 'awaits compaction', skipped: 'skipped', compacted: 'compacted' } as const
const maxListed = 12

/** The intervals of the selected cell: state, reason, and place in the queue. */
function CellDetails({
  calendar,
  cursor,
}: {
  readonly calendar: Calendar
  readonly cursor: HeatMapCursor | undefined
}) {
  const row = cursor && calendar.rows[cursor.row]
  const cell = cursor && row?.cells[cursor.cell]
  const dataSource = row?.status.dataSource
  const { data: caller } = useCaller()
  const isQueueKnown = caller?.config.write === true
  const { data: queue } = useCompactionPreview(
    {},
    cell?.intervals.some(({ state }) => state === 'awaiting'),
  )
  if (!cell || dataSource === undefined)
    return <p className="details hint">Click a cell, or press an arrow key, to see its intervals.</p>
  const eligible = (queue?.candidates ?? []).filter((one) => one.eligible)
  const placeOf = (interval: string): number =>
    eligible.findIndex((one) => one.dataSource === dataSource && one.interval === interval) + 1
  return (
    <div className="cell-details" role="status">
      <p>
        <b>
          <Name>{dataSource}</Name>, {formatTime(cell.start)} to {formatTime(cell.end)}
        </b>
        {cell.intervals.length === 0 && ': no data'}
      </p>
      {cell.intervals.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>interval</th>
              <th>state</th>
              <th className="right">segments</th>
              <th className="right">size</th>
              <th className="right">{isQueueKnown ? 'place in queue' : 'place within datasource'}</th>
              <th>reason</th>
            </tr>
          </thead>
          <tbody>
            {cell.intervals.slice(0, maxListed).map((one) => (
              <tr key={`${one.state} ${one.interval}`}>
                <th scope="row">{formatDays(one.interval)}</th>
                <td>{stateTexts[one.state]}</td>
                <td className="right">{formatCount(one.segments)}</td>
                <td className="right">{formatBytes(one.bytes)}</td>
                <td className="right">
                  {one.place !== undefined && formatCount(placeOf(one.interval) || one.place)}
                </td>
                <td>{one.reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {cell.intervals.length > maxListed && (
        <p className="hint">and {formatCount(cell.intervals.length - maxListed)} more</p>
      )}
      <p className="hint">
        <Link href={datasourceAddress(dataSource)}>Show this datasource</Link>
      </p>
    </div>
  )
}
