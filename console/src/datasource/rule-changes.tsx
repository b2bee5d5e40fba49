import type { RuleJson } from '@svc/domain/rules'
import { countOf } from '@svc/domain/text'
import { useMemo } from 'react'
import { Name } from '../ui/index.ts'
import { differencesOf } from './rule-differences.ts'
import { describeRule } from './rule-text.ts'

const maxLines = 20

/** How rules differ from earlier ones: removed and added rules, and whether the others were reordered. */
export function RuleDifferences({
  before,
  after,
}: {
  readonly before: readonly RuleJson[]
  readonly after: readonly RuleJson[]
}) {
  const { added, removed, isReordered } = useMemo(() => differencesOf(before, after), [before, after])
  const lines = [...removed.map((rule) => ['−', rule] as const), ...added.map((rule) => ['+', rule] as const)]
  return (
    <ul className="small differences">
      {lines.slice(0, maxLines).map(([sign, rule], index) => (
        <li key={index}>
          <span className="sign">{sign}</span> <RuleLine rule={rule} />
        </li>
      ))}
      {lines.length > maxLines && <li className="dim">{countOf(lines.length - maxLines, 'more change')}</li>}
      {isReordered && <li>Rules were reordered.</li>}
      {lines.length === 0 && !isReordered && <li className="dim">The rules stayed the same.</li>}
    </ul>
  )
}

function RuleLine({ rule }: { readonly rule: RuleJson }) {
  const { what, scope, where } = describeRule(rule)
  return (
    <>
      {what} {scope}{' '}
      {where && (
        <>
          → <Name>{where}</Name>
        </>
      )}
    </>
  )
}
