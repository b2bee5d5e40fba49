import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import { dayMs } from '@svc/domain/time'
import { useEffect, useEffectEvent, useMemo, useState } from 'react'
import { Link, useLocation, useRoute } from 'wouter'
import { type CompactionStatus, intervalCountOf, maxCompactionIntervals } from '../answers/index.ts'
import { ClockBar, PresentNotice } from '../clock/index.ts'
import {
  type CompactionPreview,
  type ListedStatuses,
  useCaller,
  useClusterCompaction,
  useCompaction,
  useCompactionPreview,
  useCompactionStatus,
  useInventory,
} from '../cluster/index.ts'
import { compactionAddress, datasourceAddress, nameInAddress } from '../location.ts'
import { sumOf } from '../sum-of.ts'
import { Empty, formatDays, formatRange, Name, visible } from '../ui/index.ts'
import { type Calendar, type CalendarCell, type CalendarInterval, calendarOf, yearsOf } from './calendar.ts'
import { ConfigPanel } from './config-panel.tsx'
import { DayCalendar } from './day-calendar.tsx'
import { HeatMap, type HeatMapCursor } from './heat-map.tsx'
import { Policies } from './policies.tsx'
import { Supervisors } from './supervisors.tsx'
import './compaction.css'

/** What is compacted, what waits and why, and how to configure it. */
export function CompactionScreen() {
  const status = useCompactionStatus()
  const { data: inventory } = useInventory()
  const [cursor, setCursor] = useState<HeatMapCursor>()
  const [day, setDay] = useState<number>()
  const statuses = useMemo(
    () => status.data?.statuses.toSorted((a, b) => (a.dataSource < b.dataSource ? -1 : 1)) ?? [],
    [status.data],
  )
  const names = (inventory?.datasources ?? []).map(({ name }) => name)
  const [dataSource, select] = useSelection(status.data && (statuses[0]?.dataSource ?? names[0]))
  // The calendars change only with the day.
  const now = Math.ceil((inventory?.now ?? Date.now()) / dayMs) * dayMs
  const shown = useShown(statuses, status.data?.hasIntervals, dataSource)
  const calendar = useMemo(() => calendarOf(shown, now), [shown, now])
  if (status.error && !status.data)
    return (
      <Empty title="Failed to load the compaction status">
        <p>{status.error.message}</p>
      </Empty>
    )
  if (!status.data) return <Empty title="Loading…" />
  const selectable = new Set([...statuses.map((one) => one.dataSource), ...names])
  if (dataSource !== undefined) selectable.add(dataSource)
  const choose = (name: string) => {
    select(name)
    setDay(undefined)
    setCursor(undefined)
  }
  const move = (next: HeatMapCursor) => {
    const row = calendar?.rows[next.row]
    if (row) choose(row.status.dataSource)
    setCursor(next)
  }
  return (
    <div className="datasource">
      <div className="picture">
        <div className="row between">
          <h1>Compaction</h1>
          <ClockBar />
        </div>
        <PresentNotice what="compaction" />
        <Summary listed={status.data} />
        {calendar ? (
          <Calendars
            calendar={calendar}
            cursor={cursor}
            onCursor={move}
            status={shown.find((one) => one.dataSource === dataSource)}
            day={day}
            onDay={(next) => {
              setDay(next)
              setCursor(undefined)
            }}
            now={now}
          />
        ) : (
          status.data.hasIntervals && <NoCalendar isConfigured={statuses.length > 0} names={selectable} />
        )}
        <Policies />
        <Supervisors />
      </div>
      <aside aria-label="Configuration">
        <DatasourceChoice names={[...selectable]} chosen={dataSource} onChoose={choose} />
        {dataSource !== undefined && <ConfigPanel key={dataSource} dataSource={dataSource} />}
      </aside>
    </div>
  )
}

const NoCalendar = ({
  isConfigured,
  names,
}: {
  readonly isConfigured: boolean
  /** The datasources that can be configured. */
  readonly names: ReadonlySet<string>
}) => (
  <p className="dim">
    {isConfigured
      ? 'The compacted datasources have no data yet.'
      : names.size > 0
        ? 'No datasource is compacted. Choose one to configure it.'
        : 'There are no datasources yet. First drop a file on the Runs screen.'}
  </p>
)

/** The statuses to show with their intervals: of all datasources, or only of the chosen one if there are too many. */
function useShown(
  statuses: readonly CompactionStatus[],
  hasIntervals: boolean | undefined,
  dataSource: string | undefined,
): readonly CompactionStatus[] {
  const isChosenOnly = hasIntervals === false
  const chosen = statuses.find((one) => one.dataSource === dataSource)
  const isNeeded = isChosenOnly && chosen !== undefined && intervalCountOf(chosen) <= maxCompactionIntervals
  const { data: intervals } = useCompaction(dataSource ?? '', isNeeded)
  return useMemo(() => {
    if (!isChosenOnly) return statuses
    return chosen && isNeeded && intervals ? [{ ...chosen, intervals }] : []
  }, [statuses, isChosenOnly, chosen, isNeeded, intervals])
}

function DatasourceChoice({
  names,
  chosen,
  onChoose,
}: {
  readonly names: readonly string[]
  readonly chosen: string | undefined
  onChoose(name: string): void
}) {
  if (names.length === 0) return null
  return (
    <label>
      Datasource
      <select value={chosen ?? ''} onChange={(event) => onChoose(event.target.value)}>
        {names.map((name) => (
          <option key={name} value={name}>
            {visible(name)}
          </option>
        ))}
      </select>
    </label>
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

function Summary({ listed: { statuses, intervalCount, hasIntervals } }: { readonly listed: ListedStatuses }) {
  const { data: cluster } = useClusterCompaction()
  const awaiting = sumOf(statuses, (one) => one.intervalCountAwaitingCompaction)
  return (
    <>
      <p className="sentence">
        Compaction covers {countOf(statuses.length, 'datasource')}.{' '}
        {awaiting === 0
          ? 'Nothing awaits compaction.'
          : `${countOf(awaiting, 'segment interval')} (${formatBytes(sumOf(statuses, (one) => one.bytesAwaitingCompaction))}) ${awaiting === 1 ? 'awaits' : 'await'} compaction.`}
        {cluster &&
          ` Compaction uses at most ${Math.round(cluster.compactionTaskSlotRatio * 100)}% of all task slots${
            cluster.maxCompactionTaskSlots === noSlotLimit
              ? ''
              : `, and never more than ${formatCount(cluster.maxCompactionTaskSlots)}`
          }.`}
      </p>
      {!hasIntervals && (
        <p className="hint">
          There are {formatCount(intervalCount)} intervals, so only those of the chosen datasource are shown,
          if there are at most {formatCount(maxCompactionIntervals)}.
        </p>
      )}
    </>
  )
}

const legend = [
  ['full', 'compacted'],
  ['waiting', 'awaits compaction'],
  ['mixed', 'partly compacted'],
  ['skipped', 'skipped'],
] as const

/** All datasources on one time axis, unless there is only one, and the days of the chosen datasource. */
function Calendars({
  calendar,
  cursor,
  onCursor,
  status,
  day,
  onDay,
  now,
}: {
  readonly calendar: Calendar
  readonly cursor: HeatMapCursor | undefined
  onCursor(cursor: HeatMapCursor): void
  /** The status of the chosen datasource; undefined if it is not compacted. */
  readonly status: CompactionStatus | undefined
  readonly day: number | undefined
  onDay(day: number): void
  readonly now: number
}) {
  const years = useMemo(() => (status ? yearsOf(status, now) : []), [status, now])
  const row = cursor && calendar.rows[cursor.row]
  const cell =
    row?.cells[cursor!.cell] ?? years.flatMap(({ days }) => days).find(({ start }) => start === day)
  const shown = row?.status ?? status
  return (
    <section className="panel" aria-label="Calendar">
      {calendar.rows.length > 1 && (
        <>
          <div className="row between legend-row">
            <h2>All datasources by {widthText(calendar)}</h2>
            <Legend />
          </div>
          <HeatMap calendar={calendar} cursor={cursor} onCursor={onCursor} />
        </>
      )}
      {status && years.length > 0 && (
        <>
          <div className="row between legend-row">
            <h2>
              <Name>{status.dataSource}</Name> by day
            </h2>
            {calendar.rows.length === 1 && <Legend />}
          </div>
          <DayCalendar dataSource={status.dataSource} years={years} cursor={day} onCursor={onDay} />
        </>
      )}
      <CellDetails dataSource={shown?.dataSource} cell={cell} />
    </section>
  )
}

function widthText({ widthMs }: Calendar): string {
  const days = widthMs / dayMs
  return days === 1 ? 'day' : days === 7 ? 'week' : `${days} days`
}

const Legend = () => (
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
)

/** Returns the position of an interval among those that the policy selects, of which only the first ones are known. */
function placeInQueue(
  { candidates, eligible }: CompactionPreview,
  dataSource: string,
  interval: string,
): string {
  const known = candidates.filter((one) => one.eligible)
  const place = known.findIndex((one) => one.dataSource === dataSource && one.interval === interval)
  if (place >= 0) return formatCount(place + 1)
  return known.length < eligible.intervals ? `after ${formatCount(known.length)}` : ''
}

const stateTexts = { awaiting: 'awaits compaction', skipped: 'skipped', compacted: 'compacted' } as const
const maxListed = 12

/** The intervals of the selected cell: state, reason, and place in the queue. */
function CellDetails({
  dataSource,
  cell,
}: {
  readonly dataSource: string | undefined
  readonly cell: CalendarCell | undefined
}) {
  const { data: caller } = useCaller()
  const isQueueKnown = caller?.config.write === true
  const { data: queue } = useCompactionPreview(
    {},
    cell?.intervals.some(({ state }) => state === 'awaiting'),
  )
  if (!cell || dataSource === undefined)
    return <p className="details hint">Click a cell, or press an arrow key, to see its intervals.</p>
  const placeText = ({ interval, place }: CalendarInterval): string => {
    if (place === undefined) return ''
    if (!isQueueKnown) return formatCount(place)
    return queue === undefined ? '' : placeInQueue(queue, dataSource, interval)
  }
  return (
    <div className="cell-details" role="status">
      <p>
        <b>
          <Name>{dataSource}</Name>, {formatRange(cell)}
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
              <th className="right">{isQueueKnown ? 'position in queue' : 'position within datasource'}</th>
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
                <td className="right">{placeText(one)}</td>
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
        <Link href={datasourceAddress(dataSource)} className="alone">
          Show this datasource
        </Link>
      </p>
    </div>
  )
}
