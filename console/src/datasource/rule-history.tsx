import type { RuleJson } from '@svc/domain/rules'
import { countOf } from '@svc/domain/text'
import { useEffect, useRef } from 'react'
import { type DetailedRuleChange, maxRuleChanges, useRuleHistory } from '../cluster/index.ts'
import { formatMinute, Name, Problem } from '../ui/index.ts'
import { differencesOf } from './rule-differences.ts'
import { describeRule } from './rule-text.ts'
import { type RulesEdit, sameRules } from './use-rules-edit.ts'

/** Who changed the rules when, why, and how; earlier rules can be edited again. */
export function RuleHistory({
  dataSource,
  edit,
  onClose,
}: {
  readonly dataSource: string
  readonly edit: RulesEdit
  onClose(): void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const { data, error } = useRuleHistory(dataSource)
  useEffect(() => dialog.current?.showModal(), [])
  const restore = (list: readonly RuleJson[]) => {
    edit.replace(list)
    dialog.current?.close()
  }
  return (
    <dialog ref={dialog} className="rule-history" aria-labelledby="rule-history-title" onClose={onClose}>
      <div className="row between">
        <h2 id="rule-history-title">
          Rule changes of <Name>{dataSource}</Name>
        </h2>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      {error && <Problem>{error.message}</Problem>}
      {data?.length === 0 && <p className="dim">The rules have never been changed.</p>}
      <div className="scroll" tabIndex={0} role="group" aria-label="Changes, newest first">
        <table>
          <thead>
            <tr>
              <th>time</th>
              <th>who</th>
              <th>what</th>
              <th>
                <span className="unseen">Earlier rules</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {data?.map((change, index) => (
              <Change
                key={`${change.auditTime} ${index}`}
                change={change}
                stored={edit.base}
                onRestore={restore}
              />
            ))}
          </tbody>
        </table>
      </div>
      {data?.length === maxRuleChanges && (
        <p className="hint">The last {countOf(maxRuleChanges, 'change')} are listed.</p>
      )}
    </dialog>
  )
}

const rulesIn = (text: string | null): readonly RuleJson[] =>
  text === null ? [] : (JSON.parse(text) as readonly RuleJson[])

function Change({
  change: { auditTime, auditInfo, payload, replaced },
  stored,
  onRestore,
}: {
  readonly change: DetailedRuleChange
  readonly stored: readonly RuleJson[]
  onRestore(list: readonly RuleJson[]): void
}) {
  const { author, identity, comment } = auditInfo
  const [before, after] = [rulesIn(replaced), rulesIn(payload)]
  const { added, removed, isReordered } = differencesOf(before, after)
  const lines: [string, RuleJson][] = [
    ...removed.map((rule): [string, RuleJson] => ['−', rule]),
    ...added.map((rule): [string, RuleJson] => ['+', rule]),
  ]
  return (
    <tr>
      <td className="numbers nowrap">{formatMinute(Date.parse(auditTime))}</td>
      <td className="who">
        <Name>{author || identity}</Name>
        {author !== '' && author !== identity && (
          <div className="dim small">
            as <Name>{identity}</Name>
          </div>
        )}
      </td>
      <td>
        {comment && (
          <p>
            “<bdi>{comment}</bdi>”
          </p>
        )}
        <ul className="small">
          {lines.map(([sign, rule], index) => (
            <li key={index}>
              <span className="sign">{sign}</span> <RuleLine rule={rule} />
            </li>
          ))}
          {isReordered && <li>Rules were reordered.</li>}
          {lines.length === 0 && !isReordered && <li className="dim">The rules stayed the same.</li>}
        </ul>
      </td>
      <td className="right">
        {!sameRules(after, stored) && (
          <button type="button" onClick={() => onRestore(after)}>
            Edit these rules
          </button>
        )}
      </td>
    </tr>
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
