import type { RuleJson } from '@svc/domain/rules'
import { countOf } from '@svc/domain/text'
import { useMemo } from 'react'
import { type DetailedRuleChange, maxRuleChanges, useRuleHistory } from '../cluster/index.ts'
import { Dialog, formatMinute, Name, Problem } from '../ui/index.ts'
import { RuleDifferences } from './rule-changes.tsx'
import { sameRules } from './rules-draft.ts'
import type { RulesEdit } from './use-rules-edit.ts'

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
  const { data, error } = useRuleHistory(dataSource)
  return (
    <Dialog
      className="rule-history"
      title={
        <>
          Rule changes for <Name>{dataSource}</Name>
        </>
      }
      onClose={onClose}
    >
      {(close) => (
        <>
          {error && <Problem>{error.message}</Problem>}
          {data?.length === 0 && <p className="dim">The rules have never been changed.</p>}
          <ChangeTable
            changes={data ?? []}
            stored={edit.base}
            onRestore={(list) => {
              edit.step({ kind: 'replace', list })
              close()
            }}
          />
          {data?.length === maxRuleChanges && (
            <p className="hint">The last {countOf(maxRuleChanges, 'change')} are listed.</p>
          )}
        </>
      )}
    </Dialog>
  )
}

interface ChangeInput {
  readonly stored: readonly RuleJson[]
  onRestore(list: readonly RuleJson[]): void
}

const ChangeTable = ({
  changes,
  ...input
}: ChangeInput & { readonly changes: readonly DetailedRuleChange[] }) => (
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
        {changes.map((change, index) => (
          <Change key={`${change.auditTime} ${index}`} change={change} {...input} />
        ))}
      </tbody>
    </table>
  </div>
)

const rulesIn = (text: string | null): readonly RuleJson[] =>
  text === null ? [] : (JSON.parse(text) as readonly RuleJson[])

function Change({
  change: { auditTime, auditInfo, payload, replaced },
  stored,
  onRestore,
}: ChangeInput & { readonly change: DetailedRuleChange }) {
  const { author, identity, comment } = auditInfo
  const before = useMemo(() => rulesIn(replaced), [replaced])
  const after = useMemo(() => rulesIn(payload), [payload])
  return (
    <tr>
      <td className="numbers nowrap">{formatMinute(Date.parse(auditTime))}</td>
      <td className="who">
        <Name>{author || identity}</Name>
        {author !== '' && identity !== '' && author !== identity && (
          <div className="dim small">
            as <Name>{identity}</Name>
          </div>
        )}
      </td>
      <td>
        {comment && (
          <p>
            “<Name>{comment}</Name>”
          </p>
        )}
        <RuleDifferences before={before} after={after} />
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
