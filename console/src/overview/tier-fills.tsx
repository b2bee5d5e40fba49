import { formatBytes, formatCount } from '@svc/domain/text'
import type { DataServer } from '../cluster/index.ts'
import { formatShare, Meter, Name, TierMark, visible } from '../ui/index.ts'

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
          const used = list.reduce((sum, { currSize }) => sum + currSize, 0)
          const max = list.reduce((sum, { maxSize }) => sum + maxSize, 0)
          return (
            <tr key={tier}>
              <th scope="row">
                <TierMark color={colors.get(tier)} />
                <Name>{tier}</Name>
              </th>
              <td className="right">{formatCount(list.length)}</td>
              <td className="right">{formatBytes(used)}</td>
              <td>
                <span className="fill">
                  <Meter
                    label={`Usage of ${visible(tier)}`}
                    value={used}
                    max={max}
                    color={colors.get(tier)}
                  />
                  <span className="numbers">
                    {formatShare(used, max)} of {formatBytes(max)}
                  </span>
                </span>
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
