import { type Costs, costsOf, formatCost, formatCostChange } from '@svc/domain/costs'
import { Drafts, useDraft } from '../drafts/index.ts'
import { Problem, TierName, visible } from '../ui/index.ts'
import type { PreviewView } from '../web-worker/index.ts'
import { noPrices, type PriceDraft, pricesOf } from './price-draft.ts'

// Prices belong to the cluster, so all datasources share them. The tab remembers them.
const typedPrices = new Drafts<PriceDraft>()
const everywhere = ''

/** What the replicas of a datasource cost before and after an edit, at prices that the user types. */
export function CostsOfEdit({
  dataSource,
  view,
  colors,
}: {
  readonly dataSource: string
  readonly view: PreviewView
  readonly colors: ReadonlyMap<string, number>
}) {
  const [draft = noPrices, setDraft] = useDraft(typedPrices, everywhere)
  const tiers = Object.entries(view.answer.summary.datasources[dataSource]?.tiers ?? {}).map(
    ([tier, { before, after }]) => [tier, { bytesBefore: before.bytes, bytesAfter: after.bytes }] as const,
  )
  const prices = pricesOf(draft)
  const costs =
    'problem' in prices
      ? costsOf({ currency: undefined, perGibMonth: {} }, Object.fromEntries(tiers))
      : costsOf(prices, Object.fromEntries(tiers))
  if (costs.tiers.length === 0) return null
  return (
    <details className="costs">
      <summary>
        <Total costs={costs} />
      </summary>
      <PriceTable
        costs={costs}
        colors={colors}
        texts={draft.perGibMonth}
        onChange={(tier, text) => setDraft({ ...draft, perGibMonth: { ...draft.perGibMonth, [tier]: text } })}
      />
      <label className="row">
        Currency
        <input
          className="amount"
          value={draft.currency}
          placeholder="EUR"
          onChange={({ target }) => setDraft({ ...draft, currency: target.value })}
        />
      </label>
      {'problem' in prices && <Problem>{prices.problem}</Problem>}
      <p className="hint">
        Costs of the replicas of this datasource. This browser tab remembers the prices. In plan files, they
        are under <code>prices</code>.
      </p>
    </details>
  )
}

/** Prices to type by tier, and what the tiers cost. */
function PriceTable({
  costs,
  colors,
  texts,
  onChange,
}: {
  readonly costs: Costs
  readonly colors: ReadonlyMap<string, number>
  /** Prices as they are typed, by tier. */
  readonly texts: PriceDraft['perGibMonth']
  onChange(tier: string, text: string): void
}) {
  return (
    <table>
      <thead>
        <tr>
          <th>tier</th>
          <th className="right">price per GiB</th>
          <th className="right">before</th>
          <th className="right">after</th>
        </tr>
      </thead>
      <tbody>
        {costs.tiers.map(({ tier, gibBefore, gibAfter, price }) => (
          <tr key={tier}>
            <th scope="row" className="middle">
              <TierName tier={tier} colors={colors} />
            </th>
            <td className="right middle">
              <input
                className="amount"
                inputMode="decimal"
                aria-label={`Monthly price per GiB in tier ${visible(tier)}`}
                value={Object.hasOwn(texts, tier) ? texts[tier] : ''}
                onChange={({ target }) => onChange(tier, target.value)}
              />
            </td>
            <td className="right middle">{price === undefined ? '' : formatCost(gibBefore * price)}</td>
            <td className="right middle">{price === undefined ? '' : formatCost(gibAfter * price)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Total({ costs: { currency, tiers, before, after } }: { readonly costs: Costs }) {
  const priced = tiers.filter(({ price }) => price !== undefined)
  if (priced.length === 0) return <>Cost per month: enter prices</>
  const isPartial = priced.length < tiers.length
  return (
    <>
      Cost per month:{' '}
      <b className="numbers">
        {formatCost(before)} → {formatCost(after)}
        {currency === undefined ? '' : ` ${visible(currency)}`}
      </b>{' '}
      <span className="dim numbers">
        ({formatCostChange(before, after)}
        {isPartial && `, ${tiers.length - priced.length} of ${tiers.length} tiers without a price`})
      </span>
    </>
  )
}
