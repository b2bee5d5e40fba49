import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import { Link } from 'wouter'
import { datasourceAddress } from '../location.ts'
import { Bytes, BytesCell, formatDays, Name, Notice, TierFill, TierName, tierColors } from '../ui/index.ts'
import type { PreviewAnswer } from '../web-worker/index.ts'

/** What the stored rules do until a time in the future, in sentences. */
export function FutureSummary({ answer }: { readonly answer: PreviewAnswer }) {
  const { unqueryable, unused, loaded, dropped, moved, doesNotFit } = answer.summary.effects
  const lost = unqueryable.segments > 0 ? unqueryable : unused
  return (
    <>
      {lost.segments > 0 && (
        <Notice kind="loss">
          <b>{lossText(lost.segments, unqueryable.queryableBefore)}</b> ({formatDays(lost.interval!)};{' '}
          {formatBytes(lost.bytes)}).
          {unused.segments > 0 && ` ${countOf(unused.segments, 'segment')} will be marked as unused.`}
        </Notice>
      )}
      <p className="sentence">
        By then, the stored rules will load {countOf(loaded.copies! + moved.copies!, 'replica')} (
        {formatBytes(loaded.bytes + moved.bytes)}) and drop {formatCount(dropped.copies! + moved.copies!)} (
        {formatBytes(dropped.bytes + moved.bytes)}).
        {doesNotFit.segments > 0 &&
          ` ${countOf(doesNotFit.copies!, 'replica')} (${formatBytes(doesNotFit.bytes)}) will not fit.`}
      </p>
      <p className="hint">
        This preview contains today’s data only. Data that arrives later is not predicted.
      </p>
    </>
  )
}

/** Says what is lost. Some segments may be unqueryable already, because they wait for space or for a tier. */
function lossText(segments: number, queryableBefore: number): string {
  const text = countOf(segments, 'segment')
  return queryableBefore === 0 || queryableBefore === segments
    ? `${text} ${queryableBefore === 0 ? 'cannot be queried' : 'will become unqueryable'}`
    : `${text} will be unqueryable; ${formatCount(queryableBefore)} of them can be queried now`
}

/** How full each tier is now and in the future. */
export function FutureTiers({ answer }: { readonly answer: PreviewAnswer }) {
  const tiers = Object.entries(answer.summary.tiers ?? {})
  const colors = tierColors(tiers.map(([tier]) => tier))
  return (
    <table>
      <thead>
        <tr>
          <th>tier</th>
          <th className="right">now</th>
          <th className="right">later</th>
          <th>fill</th>
        </tr>
      </thead>
      <tbody>
        {tiers.map(([tier, { bytesBefore, bytesAfter, capacityBytes, doesNotFit }]) => (
          <tr key={tier}>
            <th scope="row">
              <TierName tier={tier} colors={colors} />
            </th>
            <BytesCell of={bytesBefore} />
            <BytesCell of={bytesAfter} />
            <td>
              <TierFill
                tier={tier}
                usedBytes={bytesAfter}
                maxBytes={capacityBytes}
                misfitBytes={doesNotFit.bytes}
                colors={colors}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const maxListed = 200

/** What changes in which datasource, the largest losses first. */
export function FutureDatasources({ answer }: { readonly answer: PreviewAnswer }) {
  const rows = Object.entries(answer.summary.datasources)
    .map(([name, { effects }]) => ({
      name,
      lost: effects.unqueryable.segments > 0 ? effects.unqueryable : effects.unused,
      loads: effects.loaded.copies! + effects.moved.copies!,
      drops: effects.dropped.copies! + effects.moved.copies!,
    }))
    .filter(({ lost, loads, drops }) => lost.segments + loads + drops > 0)
    .sort((a, b) => b.lost.bytes - a.lost.bytes || b.loads - a.loads || (a.name < b.name ? -1 : 1))
  if (rows.length === 0) return <p>Nothing changes: no data reaches a rule boundary.</p>
  return (
    <table>
      <thead>
        <tr>
          <th>datasource</th>
          <th className="right">becomes unqueryable</th>
          <th className="right">bytes</th>
          <th className="right">replicas to load</th>
          <th className="right">to drop</th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, maxListed).map(({ name, lost, loads, drops }) => (
          <tr key={name}>
            <th scope="row">
              <Link href={datasourceAddress(name)}>
                <Name>{name}</Name>
              </Link>
            </th>
            <td className={lost.segments > 0 ? 'right loss-text' : 'right'}>
              {countOf(lost.segments, 'segment')}
            </td>
            <td className="right">{lost.segments > 0 && <Bytes of={lost.bytes} />}</td>
            <td className="right">{formatCount(loads)}</td>
            <td className="right">{formatCount(drops)}</td>
          </tr>
        ))}
      </tbody>
      {rows.length > maxListed && (
        <caption className="hint">The {formatCount(maxListed)} largest losses are listed.</caption>
      )}
    </table>
  )
}
