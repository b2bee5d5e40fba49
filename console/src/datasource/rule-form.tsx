import type { RuleJson } from '@svc/domain/rules'
import { useId } from 'react'
import { Name } from '../ui/index.ts'
import { lengthenedPeriod, periodInWords } from './periods.ts'
import { type Action, actions, partsOf, replicantsOf, type Scope, scopes, scopesOf } from './rule-text.ts'

const usualPeriods = ['P1D', 'P7D', 'P1M', 'P3M', 'P1Y'] as const

/** The fields of a rule. Every change is previewed at once. */
export function RuleForm({
  rule,
  tiers,
  onChange,
}: {
  readonly rule: RuleJson
  readonly tiers: readonly string[]
  onChange(rule: RuleJson): void
}) {
  const { action, scope } = partsOf(rule.type)
  const setType = (nextAction: Action, nextScope: Scope) =>
    onChange(ruleOfType(rule, nextAction, scopesOf(nextAction).includes(nextScope) ? nextScope : 'Forever'))
  return (
    <div className="rule-form">
      <div className="fields">
        <label>
          Action
          <select value={action} onChange={(event) => setType(event.target.value as Action, scope)}>
            {actions.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label>
          Which data
          <select value={scope} onChange={(event) => setType(action, event.target.value as Scope)}>
            {scopesOf(action).map((one) => (
              <option key={one} value={one}>
                {scopes[one]}
              </option>
            ))}
          </select>
        </label>
      </div>
      {scope.endsWith('ByPeriod') && <PeriodField rule={rule} onChange={onChange} />}
      {scope === 'ByInterval' && (
        <label>
          Interval (UTC)
          <input
            value={String(rule.interval ?? '')}
            spellCheck={false}
            onChange={(event) => onChange({ ...rule, interval: event.target.value })}
          />
        </label>
      )}
      {scope === 'ByPeriod' && (
        <label className="check">
          <input
            type="checkbox"
            checked={rule.includeFuture !== false}
            onChange={(event) => onChange({ ...rule, includeFuture: event.target.checked })}
          />
          Include data with future timestamps
        </label>
      )}
      {action === 'load' && <ReplicantFields rule={rule} tiers={tiers} onChange={onChange} />}
    </div>
  )
}

interface FieldInput {
  readonly rule: RuleJson
  onChange(rule: RuleJson): void
}

function PeriodField({ rule, onChange }: FieldInput) {
  const id = useId()
  const period = String(rule.period ?? '')
  const longer = lengthenedPeriod(period, 'months')
  return (
    <div className="period">
      <label htmlFor={id}>Period, counted back from now</label>
      <div className="row">
        <input
          id={id}
          className="short"
          value={period}
          spellCheck={false}
          aria-describedby={`${id}-words`}
          onChange={(event) => onChange({ ...rule, period: event.target.value.trim().toUpperCase() })}
        />
        {usualPeriods.map((usual) => (
          <button
            key={usual}
            type="button"
            className="chip"
            aria-pressed={period === usual}
            title={periodInWords(usual)}
            onClick={() => onChange({ ...rule, period: usual })}
          >
            {usual}
          </button>
        ))}
      </div>
      <div className="row between">
        <span id={`${id}-words`} className="hint">
          {periodInWords(period) ?? 'Years, months, and days in ISO 8601, such as P1Y2M3D'}
        </span>
        <button
          type="button"
          className="chip"
          disabled={longer === undefined}
          onClick={() => onChange({ ...rule, period: longer })}
        >
          Add one month
        </button>
      </div>
    </div>
  )
}

function ReplicantFields({ rule, tiers, onChange }: FieldInput & { readonly tiers: readonly string[] }) {
  const replicants = replicantsOf(rule)
  const set = (tier: string, count: number) => {
    const next = { ...replicants, [tier]: count }
    const named = Object.entries(next).filter(([, replicas]) => replicas > 0)
    onChange({ ...rule, tieredReplicants: Object.fromEntries(named) })
  }
  return (
    <fieldset>
      <legend>Replicas by tier</legend>
      <div className="replicants">
        {[...new Set([...tiers, ...Object.keys(replicants)])].sort().map((tier) => (
          <label key={tier}>
            <Name>{tier}</Name>
            <input
              type="number"
              min={0}
              max={99}
              // As text, because browsers otherwise keep a leading zero.
              value={String(replicants[tier] ?? 0)}
              onChange={(event) => set(tier, Math.max(0, Math.floor(Number(event.target.value))))}
            />
          </label>
        ))}
      </div>
    </fieldset>
  )
}

/** Returns a rule of another type, with the fields that both types have. */
function ruleOfType(rule: RuleJson, action: Action, scope: Scope): RuleJson {
  const today = new Date().toISOString().slice(0, 10)
  return {
    ...(scope.endsWith('ByPeriod') ? { period: rule.period ?? 'P1M' } : {}),
    ...(scope === 'ByPeriod' ? { includeFuture: rule.includeFuture ?? true } : {}),
    ...(scope === 'ByInterval' ? { interval: rule.interval ?? `${today}/P1D` } : {}),
    ...(action === 'load' ? { tieredReplicants: replicantsOf({ ...rule, type: 'loadForever' }) } : {}),
    type: `${action}${scope}`,
  }
}
