import type { AnsweredEffects } from '@svc/domain/preview'
import type { RuleJson } from '@svc/domain/rules'
import { lossOf, planText } from '@svc/domain/saved-plan'
import { useRef, useState } from 'react'
import { Link } from 'wouter'
import { fetchJson, hasCluster } from '../session/index.ts'
import { Name, Problem } from '../ui/index.ts'
import { planOfEdit, rulesInPlan } from './plan-file.ts'
import { screenWithRules } from './rules-link.ts'
import type { RulesEdit } from './use-rules-edit.ts'

/** Saves the edit as a plan for ./svc apply. There is none for snapshots, and browsers need a secure page for its ID. */
export function SavePlanButton({
  dataSource,
  edit,
  effects,
}: {
  readonly dataSource: string
  readonly edit: RulesEdit
  readonly effects: AnsweredEffects
}) {
  const [problem, setProblem] = useState<string>()
  if (!hasCluster() || !isSecureContext) return null
  const save = async () => {
    try {
      const { id } = await fetchJson<{ readonly id: string }>('/svc/coordinator/v1/clusterId')
      const plan = await planOfEdit({
        cluster: location.origin,
        clusterId: id,
        createdAt: new Date().toISOString(),
        dataSource,
        before: edit.base,
        after: edit.list,
        loss: lossOf(effects),
        stored: await fetchJson<Record<string, RuleJson[]>>('/svc/coordinator/v1/rules'),
      })
      const link = document.createElement('a')
      link.href = URL.createObjectURL(new Blob([planText(plan)], { type: 'application/json' }))
      link.download = `plan-${plan.id}.json`
      link.click()
      URL.revokeObjectURL(link.href)
      setProblem(undefined)
    } catch (error) {
      setProblem((error as Error).message)
    }
  }
  return (
    <button type="button" onClick={() => void save()} title={problem}>
      {problem === undefined ? 'Save plan' : 'Failed to save'}
    </button>
  )
}

type Rules = readonly RuleJson[]

/**
 * The title of the review with a button that opens a saved plan: its rules for this datasource become an edit, and its other
 * rules are links.
 */
export function ReviewTitle({
  title,
  dataSource,
  edit,
}: {
  readonly title: string
  readonly dataSource: string
  readonly edit: RulesEdit
}) {
  const input = useRef<HTMLInputElement>(null)
  const [others, setOthers] = useState<readonly (readonly [string, Rules])[]>([])
  const [problem, setProblem] = useState<string>()
  const open = async (file: File | undefined) => {
    if (file === undefined) return
    try {
      const lists = new Map(
        [...(await rulesInPlan(await file.text()))].map(([name, rules]) => [name, rules as Rules] as const),
      )
      const list = lists.get(dataSource)
      if (list !== undefined) edit.step({ kind: 'replace', list })
      setOthers([...lists].filter(([name]) => name !== dataSource))
      setProblem(lists.size === 0 ? 'The plan changes no rules.' : undefined)
    } catch (error) {
      setOthers([])
      setProblem((error as Error).message)
    }
  }
  return (
    <>
      <div className="row between">
        <h2 id="review-title">{title}</h2>
        {isSecureContext && (
          <button type="button" className="quiet" onClick={() => input.current?.click()}>
            Open plan…
          </button>
        )}
      </div>
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        aria-label="Plan file"
        hidden
        onChange={({ target }) => {
          void open(target.files?.[0])
          target.value = ''
        }}
      />
      {problem && <Problem>{problem}</Problem>}
      {others.length > 0 && (
        <p className="hint">
          The plan also changes the rules of{' '}
          {others.map(([name, list], index) => (
            <span key={name}>
              {index > 0 && ', '}
              <Link href={screenWithRules(name, list)}>
                <Name>{name}</Name>
              </Link>
            </span>
          ))}
          .
        </p>
      )}
    </>
  )
}
