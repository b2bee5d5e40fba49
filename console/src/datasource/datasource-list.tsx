import type { ServedFigures } from '@svc/domain/preview'
import { formatBytes, formatCount } from '@svc/domain/text'
import { type ReactNode, useMemo, useRef, useState } from 'react'
import { Link } from 'wouter'
import { ClockBar, FutureDatasources, useFuture } from '../clock/index.ts'
import { useCaller, useInventory } from '../cluster/index.ts'
import { IngestHint } from '../ingest-hint/index.ts'
import { datasourceAddress } from '../location.ts'
import { hasCluster } from '../session/index.ts'
import { sumOf } from '../sum-of.ts'
import {
  BytesCell,
  Empty,
  formatRange,
  Name,
  TierName,
  tierColors,
  useLongTable,
  visible,
} from '../ui/index.ts'
import type { InventoryFigures } from '../web-worker/index.ts'
import { Elsewhere } from './elsewhere.tsx'
import { knownTiers } from './known-tiers.ts'
import { openFirst, SearchField, walkResults } from './search-field.tsx'

const rowHeight = 36

/** All datasources that the user may read, and what else a search finds. */
export function DatasourceList() {
  const { data, error } = useInventory()
  const future = useFuture()
  const [search, setSearch] = useState('')
  const page = useRef<HTMLDivElement>(null)
  const colors = useColors(data)
  const shown = useMemo(() => {
    const wanted = search.trim().toLowerCase()
    return data?.datasources.filter(({ name }) => name.toLowerCase().includes(wanted)) ?? []
  }, [data, search])
  if (!data)
    return (
      <Empty title={error ? 'Failed to load the datasources' : 'Loading…'}>
        {error && <p>{error.message}</p>}
      </Empty>
    )
  const field = <SearchField text={search} onText={setSearch} onOpen={() => openFirst(page.current)} />
  if (data.datasources.length === 0)
    return (
      <div ref={page} onKeyDown={walkResults}>
        <NoDatasources>
          {field}
          <Elsewhere text={search} dataSources={[]} />
        </NoDatasources>
      </div>
    )
  return (
    <div ref={page} className={future.isFuture ? 'page future' : 'page'} onKeyDown={walkResults}>
      <div className="row between">
        <h1>Datasources</h1>
        {data.isLocal && <ClockBar />}
        {field}
      </div>
      {future.answer && <FutureDatasources answer={future.answer} />}
      {!future.isFuture && (
        <div className="row between">
          <p className="dim" role="status">
            {shown.length === data.datasources.length
              ? `${formatCount(shown.length)} in total`
              : `${formatCount(shown.length)} of ${formatCount(data.datasources.length)}`}
          </p>
          <Legend colors={colors} />
        </div>
      )}
      {!future.isFuture && shown.length > 0 && (
        <Rows datasources={shown} colors={colors} isLocal={data.isLocal} />
      )}
      <Elsewhere text={search} dataSources={future.isFuture ? shown.map(({ name }) => name) : []} />
    </div>
  )
}

function NoDatasources({ children }: { readonly children: ReactNode }) {
  const { data: caller } = useCaller()
  const canIngest = hasCluster() && caller?.anyDatasource.write === true
  const canRead = caller?.anyDatasource.read === true
  return (
    <Empty title={noDatasourcesTitle(canRead)}>
      {canIngest && (
        <>
          <p>Load sample data into this cluster:</p>
          <IngestHint />
        </>
      )}
      {hasCluster() && (
        <p>
          {canIngest && (
            <>
              Or drop a CSV or JSON file on the <Link href="/runs">Runs</Link> screen.{' '}
            </>
          )}
          {canRead
            ? 'If you expected to see datasources, you may lack the READ permission on them.'
            : 'You see a datasource once an administrator gives you READ on it.'}
        </p>
      )}
      {children}
    </Empty>
  )
}

const noDatasourcesTitle = (canRead: boolean): string => {
  if (!hasCluster()) return 'This snapshot has no datasources'
  return canRead ? 'No datasources yet' : 'You cannot read any datasource'
}

/** The colors of all tiers that have servers or replicas. */
const useColors = (inventory: InventoryFigures | undefined): ReadonlyMap<string, number> =>
  useMemo(() => tierColors(inventory ? knownTiers(inventory) : []), [inventory])

const Legend = ({ colors }: { readonly colors: ReadonlyMap<string, number> }) => (
  <ul className="legend" aria-label="Tiers">
    {[...colors.keys()].map((tier) => (
      <li key={tier}>
        <TierName tier={tier} colors={colors} />
      </li>
    ))}
  </ul>
)

function Rows({
  datasources,
  colors,
  isLocal,
}: {
  readonly datasources: readonly ServedFigures[]
  readonly colors: ReadonlyMap<string, number>
  /** Whether it is known which segments must be served. */
  readonly isLocal: boolean
}) {
  const { box, indexes, before, after } = useLongTable(datasources.length, rowHeight)
  const max = Math.max(1, ...datasources.map(({ bytes }) => bytes))
  return (
    <div ref={box} className="scroll framed" tabIndex={0} role="group" aria-label="List of datasources">
      <table className="list" aria-rowcount={datasources.length + 1}>
        <thead>
          <tr>
            <th>name</th>
            <th className="right">{isLocal ? 'segments' : 'served segments'}</th>
            <th className="right">size</th>
            <th>replicas by tier</th>
            <th>data</th>
            {isLocal && <th>state</th>}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <tr style={{ height: before }} />}
          {indexes.map((index) => (
            <tr key={datasources[index]!.name} aria-rowindex={index + 2} style={{ height: rowHeight }}>
              <Cells one={datasources[index]!} colors={colors} max={max} isLocal={isLocal} />
            </tr>
          ))}
          {after > 0 && <tr style={{ height: after }} />}
        </tbody>
      </table>
    </div>
  )
}

function Cells({
  one,
  colors,
  max,
  isLocal,
}: {
  readonly one: ServedFigures
  readonly colors: ReadonlyMap<string, number>
  readonly max: number
  /** Whether it is known which segments must be served. */
  readonly isLocal: boolean
}) {
  return (
    <>
      <th scope="row">
        <Link href={datasourceAddress(one.name)}>
          <Name>{one.name}</Name>
        </Link>
      </th>
      <td className="right numbers">{formatCount(one.segments)}</td>
      <BytesCell of={one.bytes} />
      <td className="stack">
        <Share one={one} colors={colors} max={max} />
      </td>
      <td className="dim numbers">{one.extent ? formatRange(one.extent) : ''}</td>
      {isLocal && <td>{stateOf(one)}</td>}
    </>
  )
}

function Share({
  one: { bytesByTier, bytes },
  colors,
  max,
}: {
  readonly one: ServedFigures
  readonly colors: ReadonlyMap<string, number>
  readonly max: number
}) {
  const tiers = Object.entries(bytesByTier).sort(([a], [b]) => (a < b ? -1 : 1))
  const total = sumOf(tiers, ([, size]) => size)
  return (
    <span
      className="share"
      title={tiers.map(([tier, size]) => `${visible(tier)}: ${formatBytes(size)}`).join(', ')}
    >
      <span className="share-bar" style={{ width: `${Math.max(4, (bytes / max) * 100)}%` }}>
        {tiers.map(([tier, size]) => (
          <span
            key={tier}
            className={`tier-${colors.get(tier)}`}
            style={{ flexGrow: size / Math.max(1, total) }}
          />
        ))}
      </span>
      {tiers.map(([tier]) => (
        <span key={tier} className="unseen">
          <TierName tier={tier} colors={colors} />
        </span>
      ))}
    </span>
  )
}

function stateOf({ segments, unserved, underReplicated }: ServedFigures): string {
  if (segments === 0) return 'rules only'
  if (unserved > 0) return `${formatCount(unserved)} not served`
  if (underReplicated > 0) return `${formatCount(underReplicated)} under-replicated`
  return 'complete'
}
