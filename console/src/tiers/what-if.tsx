import type { ChangedTier, ServerChanges, ServerChangesPreview } from '@svc/domain/preview'
import { countOf, formatBytes, formatCount, formatList } from '@svc/domain/text'
import { type FormEvent, useState } from 'react'
import { type DataServer, useServerActivity } from '../cluster/index.ts'
import { hasCluster } from '../session/index.ts'
import { sumOf } from '../sum-of.ts'
import { Bytes, formatSpan, formatTime, Notice, TierFill, TierName, visible } from '../ui/index.ts'
import { loadDurationOf } from './load-duration.ts'
import { serversLostText } from './servers-lost.ts'
import type { AssumedChanges } from './use-server-changes.ts'

/** How full the tiers are, when they become full, and what assumed changes to their servers do. */
export function WhatIf({
  whatIf,
  preview,
  servers,
  colors,
}: {
  readonly whatIf: AssumedChanges
  readonly preview: ServerChangesPreview
  readonly servers: readonly DataServer[]
  readonly colors: ReadonlyMap<string, number>
}) {
  return (
    <section
      aria-label="What if"
      aria-busy={whatIf.isOutdated}
      className={whatIf.isChanged ? 'review panel previewed' : 'review'}
    >
      {whatIf.isChanged && (
        <>
          <Notice kind="future" role="status">
            <b>What if {visible(sentenceOf(whatIf.changes))}?</b> Nothing has changed in the cluster.
          </Notice>
          {whatIf.isOutdated ? (
            <p className="sentence">Computing what happens.</p>
          ) : (
            <Consequences preview={preview} changes={whatIf.changes} servers={servers} />
          )}
        </>
      )}
      <div className={whatIf.isOutdated ? 'outdated' : undefined}>
        <ChangedTiers tiers={preview.tiers} colors={colors} />
      </div>
      <p className="hint">
        “Full on” is computed for today’s data. Data that arrives later is not predicted.
      </p>
      <div className="row between">
        <AddServers servers={servers} tiers={[...colors.keys()].sort()} onAdd={whatIf.add} />
        {whatIf.isChanged && (
          <button type="button" onClick={whatIf.discard}>
            Discard
          </button>
        )}
      </div>
    </section>
  )
}

const maxNamed = 3

/** Returns assumed changes as part of a sentence. */
function sentenceOf({ failed, drained, added }: ServerChanges): string {
  const named = (hosts: readonly string[]): string =>
    hosts.length <= maxNamed ? formatList(hosts) : countOf(hosts.length, 'server')
  const isOne = (hosts: readonly string[]): boolean => hosts.length === 1
  const parts = [
    ...(failed.length > 0 ? [`${named(failed)} ${isOne(failed) ? 'fails' : 'fail'}`] : []),
    ...(drained.length > 0 ? [`${named(drained)} ${isOne(drained) ? 'is' : 'are'} drained`] : []),
    ...[...Map.groupBy(added, ({ tier, maxSizeBytes }) => `${maxSizeBytes} ${tier}`).values()].map((list) => {
      const { tier, maxSizeBytes } = list[0]!
      const size = list.length === 1 ? formatBytes(maxSizeBytes) : `${formatBytes(maxSizeBytes)} each`
      return `${countOf(list.length, 'server')} with ${size} ${list.length === 1 ? 'is' : 'are'} added to ${tier}`
    }),
  ]
  return formatList(parts)
}

interface ConsequencesInput {
  readonly preview: ServerChangesPreview
  readonly changes: ServerChanges
  readonly servers: readonly DataServer[]
}

function Consequences({ preview, changes, servers }: ConsequencesInput) {
  const { tiers, unavailableSegments, unloadableSegments, underReplicatedSegments } = preview
  const copies = sumOf(tiers, ({ loaded }) => loaded.copies)
  const misfits = sumOf(tiers, ({ doesNotFit }) => doesNotFit.copies)
  const empty = tiers.filter((tier) => tier.serversBefore > 0 && tier.serversAfter === 0)
  const consequence = serversLostText(preview)
  return (
    <>
      {consequence && (
        <Notice kind={unavailableSegments > 0 ? 'loss' : 'warning'}>
          <b>{consequence.what}</b> {consequence.why}
          {empty.length > 0 &&
            ` ${visible(formatList(empty.map(({ name }) => name)))} ${empty.length === 1 ? 'has' : 'have'} no other servers.`}
        </Notice>
      )}
      {underReplicatedSegments > 0 && (
        <Notice kind="warning">
          {countOf(underReplicatedSegments, 'segment has', 'segments have')} fewer replicas than the rules
          require.
        </Notice>
      )}
      {misfits > 0 && (
        <Notice kind="warning">
          {countOf(misfits, 'replica')} ({formatBytes(sumOf(tiers, ({ doesNotFit }) => doesNotFit.bytes))})
          will not fit.
        </Notice>
      )}
      {copies > 0 ? (
        <p className="sentence">
          The servers load {countOf(copies, 'replica')} (
          {formatBytes(sumOf(tiers, ({ loaded }) => loaded.bytes))}).{' '}
          {hasCluster() && <Duration preview={preview} changes={changes} servers={servers} />}
        </p>
      ) : (
        unloadableSegments === 0 && <p className="sentence">No server needs to load anything.</p>
      )}
    </>
  )
}

/** How long the loads take. A snapshot has no measured rates. */
function Duration({ preview: { tiers }, changes, servers }: ConsequencesInput) {
  const { data: activity = {} } = useServerActivity()
  const loading = tiers.filter(({ loaded }) => loaded.copies > 0).length
  const { atLeastMs, slowest, unmeasured } = loadDurationOf({ tiers, changes, servers, activity })
  return (
    <span title="Based on the rates at which the servers loaded segments recently. Loading may take longer, because the coordinator limits how many replicas it assigns in each run.">
      {atLeastMs !== undefined &&
        `At the measured rates, that takes at least ${formatSpan(atLeastMs)}${loading > 1 ? `; ${visible(slowest!)} takes longest` : ''}. `}
      {unmeasured.length > 0 &&
        `How long it takes in ${visible(formatList(unmeasured))} is unknown, because no loads have been measured there yet.`}
    </span>
  )
}

function ChangedTiers({
  tiers,
  colors,
}: {
  readonly tiers: readonly ChangedTier[]
  readonly colors: ReadonlyMap<string, number>
}) {
  return (
    <table>
      <thead>
        <tr>
          <th>tier</th>
          <th className="right">servers</th>
          <th className="right">used</th>
          <th>fill</th>
          <th className="right">to load</th>
          <th className="right">full on</th>
        </tr>
      </thead>
      <tbody>
        {tiers.map((tier) => (
          <tr key={tier.name}>
            <th scope="row">
              <TierName tier={tier.name} colors={colors} />
            </th>
            <td className="right">
              <Changed before={formatCount(tier.serversBefore)} after={formatCount(tier.serversAfter)} />
            </td>
            <td className="right numbers">
              <Changed before={formatBytes(tier.bytesBefore)} after={formatBytes(tier.bytesAfter)} />
            </td>
            <td>
              <TierFill
                tier={tier.name}
                usedBytes={tier.bytesAfter}
                maxBytes={tier.capacityBytesAfter}
                colors={colors}
              />
            </td>
            <td className={tier.loaded.copies > 0 ? 'right' : 'right dim'}>
              {tier.loaded.copies > 0 ? <Bytes of={tier.loaded.bytes} /> : 'nothing'}
            </td>
            <td className={tier.fullAt === undefined ? 'right dim' : 'right loss-text'}>
              {tier.fullAt === undefined ? 'not within a year' : formatTime(tier.fullAt)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Changed({ before, after }: { readonly before: string; readonly after: string }) {
  if (before === after) return after
  return (
    <>
      <span className="dim">{before} →</span> {after}
    </>
  )
}

const gigabyte = 1e9
const maxAdded = 100

/** Assumes that servers are added to a tier. */
function AddServers({
  servers,
  tiers,
  onAdd,
}: {
  readonly servers: readonly DataServer[]
  readonly tiers: readonly string[]
  onAdd(tier: string, count: number, maxSizeBytes: number): void
}) {
  const [tier, setTier] = useState(tiers[0] ?? '')
  const [count, setCount] = useState('1')
  const [size, setSize] = useState<string>()
  const usual = servers.find((server) => server.tier === tier)?.maxSize ?? gigabyte
  const gigabytes = size ?? String(Number((usual / gigabyte).toPrecision(4)))
  const isValid = Number(count) >= 1 && Number(count) <= maxAdded && Number(gigabytes) > 0
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isValid) return
    // The usual size may have more digits than are shown.
    onAdd(tier, Math.floor(Number(count)), size === undefined ? usual : Number(size) * gigabyte)
  }
  return (
    <form onSubmit={submit}>
      <div className="row">
        <label className="row">
          What if you add
          <input
            className="amount"
            inputMode="numeric"
            aria-label="Number of servers to add"
            value={count}
            onChange={(event) => setCount(event.target.value)}
          />
        </label>
        <label className="row">
          {count === '1' ? 'server to' : 'servers to'}
          <select
            aria-label="Tier of the servers"
            value={tier}
            onChange={(event) => {
              setTier(event.target.value)
              setSize(undefined)
            }}
          >
            {tiers.map((name) => (
              <option key={name} value={name}>
                {visible(name)}
              </option>
            ))}
          </select>
        </label>
        <label className="row">
          with
          <input
            className="amount"
            inputMode="decimal"
            aria-label="Size of each server, in GB"
            value={gigabytes}
            onChange={(event) => setSize(event.target.value)}
          />
          {count === '1' ? 'GB?' : 'GB each?'}
        </label>
        <button type="submit" disabled={!isValid}>
          Preview
        </button>
      </div>
    </form>
  )
}
