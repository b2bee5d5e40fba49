import { formatCount } from '@svc/domain/text'
import type { DataServer } from '../cluster/index.ts'
import { sumOf } from '../sum-of.ts'
import { BytesCell, TierFill, TierName } from '../ui/index.ts'

/** How full each tier is. */
export function TierFills({
  servers,
  colors,
}: {
  readonly servers: readonly DataServer[]
  readonly colors: ReadonlyMap<string, number>
}) {
  const historicals = servers.filter(({ type }) => type === 'historical')
  const tiers = [...Map.groupBy(historicals, ({ tier }) => tier)].sort(([a], [b]) => (a < b ? -1 : 1))
  return (
    <table>
      <thead>
        <tr>
          <th>tier</th>
          <th className="right">servers</th>
          <th className="right">used</th>
          <th>fill</th>
        </tr>
      </thead>
      <tbody>
        {tiers.map(([tier, list]) => {
          const used = sumOf(list, ({ currSize }) => currSize)
          const max = sumOf(list, ({ maxSize }) => maxSize)
          return (
            <tr key={tier}>
              <th scope="row">
                <TierName tier={tier} colors={colors} />
              </th>
              <td className="right">{formatCount(list.length)}</td>
              <BytesCell of={used} />
              <td>
                <TierFill tier={tier} usedBytes={used} maxBytes={max} colors={colors} />
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
