import type { TierMove } from '@svc/domain/preview'
import { formatCount } from '@svc/domain/text'
import { BytesCell, TierFill, TierName, visible } from '../ui/index.ts'
import type { PreviewView } from '../web-worker/index.ts'
import { missingReplicasText } from './missing-replicas.ts'
import { Numbers } from './numbers.tsx'

/** Which replicas go where, and how full the tiers are afterward. */
export function WhatMoves({
  view,
  dataSource,
  colors,
  isEdited,
  isOutdated,
}: {
  readonly view: PreviewView
  readonly dataSource: string
  readonly colors: ReadonlyMap<string, number>
  readonly isEdited: boolean
  readonly isOutdated: boolean
}) {
  const moves = view.moves ?? []
  const changes = Object.entries(view.answer.summary.datasources[dataSource]?.tiers ?? {})
  return (
    <div className={isOutdated ? 'tables outdated' : 'tables'}>
      <section aria-labelledby="numbers-title">
        <h2 id="numbers-title">{isEdited ? 'After this edit' : 'Under these rules'}</h2>
        <Numbers effects={view.answer.summary.effects} />
        <p className="hint" role="status">
          {view.assumesSpace &&
            'Checking whether all replicas fit. Until then, these numbers assume that they do.'}
        </p>
      </section>
      <section aria-labelledby="moves-title">
        <h2 id="moves-title">{isEdited ? 'What moves' : 'What still moves under these rules'}</h2>
        {moves.length === 0 ? (
          <p className="hint">
            {view.moves
              ? nothingText(view)
              : 'Only users with READ on STATE and on all datasources see moves between tiers.'}
          </p>
        ) : (
          <MovesTable moves={moves} colors={colors} />
        )}
      </section>
      <section aria-labelledby="tiers-title">
        <h2 id="tiers-title">Tiers</h2>
        <table>
          <thead>
            <tr>
              <th>tier</th>
              <th className="right">now</th>
              <th className="right">after</th>
              <th>fill (all datasources)</th>
            </tr>
          </thead>
          <tbody>
            {changes.map(([tier, { before, after }]) => (
              <tr key={tier}>
                <th scope="row">
                  <TierName tier={tier} colors={colors} />
                </th>
                <BytesCell of={before.bytes} />
                <BytesCell of={after.bytes} />
                <td>
                  <Fill tier={tier} totals={view.answer.summary.tiers?.[tier]} colors={colors} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  )
}

/** Says why nothing moves. */
function nothingText({ answer }: PreviewView): string {
  const missing = missingReplicasText(answer.summary.effects)
  return missing === undefined
    ? 'Nothing: every replica is where the rules require it.'
    : `Nothing moves, but replicas are missing: ${missing}.`
}

function MovesTable({
  moves,
  colors,
}: {
  readonly moves: readonly TierMove[]
  readonly colors: ReadonlyMap<string, number>
}) {
  return (
    <table>
      <thead>
        <tr>
          <th>replicas</th>
          <th className="right">segments</th>
          <th className="right">replicas</th>
          <th className="right">bytes</th>
        </tr>
      </thead>
      <tbody>
        {moves.map(({ from, to, segments, copies, bytes }) => (
          <tr key={`${from} ${to}`}>
            <th
              scope="row"
              className="move"
              title={`${visible(from ?? 'new')} → ${visible(to ?? 'dropped')}`}
            >
              {from === undefined ? 'new' : <TierName tier={from} colors={colors} />}
              <span className="arrow"> → </span>
              {to === undefined ? 'dropped' : <TierName tier={to} colors={colors} />}
            </th>
            <td className="right">{formatCount(segments)}</td>
            <td className="right">{formatCount(copies)}</td>
            <BytesCell of={bytes} />
          </tr>
        ))}
      </tbody>
    </table>
  )
}

type TierTotals = NonNullable<PreviewView['answer']['summary']['tiers']>[string]

function Fill({
  tier,
  totals,
  colors,
}: {
  readonly tier: string
  readonly totals: TierTotals | undefined
  readonly colors: ReadonlyMap<string, number>
}) {
  if (!totals) return <span className="dim">not shown</span>
  const { bytesAfter, capacityBytes, servers, doesNotFit } = totals
  if (servers === 0) return 'no servers'
  return (
    <TierFill
      tier={tier}
      usedBytes={bytesAfter}
      maxBytes={capacityBytes}
      misfitBytes={doesNotFit.bytes}
      colors={colors}
    />
  )
}
