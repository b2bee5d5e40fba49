import type { AnsweredEffects } from '@svc/domain/preview'
import { defaultRulesName, type RuleJson, rulesPathOf } from '@svc/domain/rules'
import { lossOf, planText } from '@svc/domain/saved-plan'
import { countOf, formatList } from '@svc/domain/text'
import { useRef, useState } from 'react'
import { Link } from 'wouter'
import { useCaller } from '../cluster/index.ts'
import { fetchJson, hasCluster } from '../session/index.ts'
import { Name, Notice, Problem, visible } from '../ui/index.ts'
import { changedSincePlan, planOfEdit, rulesInPlan, type StoredNow } from './plan-file.ts'
import { sameRules } from './rules-draft.ts'
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
        note: edit.note,
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
    <>
      <button type="button" onClick={() => void save()}>
        Save plan
      </button>
      {problem && <Problem>{problem}</Problem>}
    </>
  )
}

type Rules = readonly RuleJson[]

/** What an opened plan means for datasources. */
interface OpenedPlan {
  /** The rules that it stores for datasources that are not shown. */
  readonly others: readonly (readonly [string, Rules])[]
  /** The datasources whose rules have changed since it was created. */
  readonly changed: readonly string[]
  /** Whether its rules for the datasource that is shown are those that are stored. */
  readonly isStored: boolean
}

/**
 * The title of the review with a button that opens a saved plan: its rules for this datasource become an edit, and its other
 * rules are links.
 */
export function ReviewTitle({
  title,
  dataSource,
  edit,
  stored,
}: {
  readonly title: string
  readonly dataSource: string
  readonly edit: RulesEdit
  /** The rules that are stored now. */
  readonly stored: Rules
}) {
  const input = useRef<HTMLInputElement>(null)
  const { data: caller } = useCaller()
  const [opened, setOpened] = useState<OpenedPlan>()
  const [problem, setProblem] = useState<string>()
  const open = async (file: File | undefined) => {
    if (file === undefined) return
    try {
      const plan = await rulesInPlan(await file.text())
      const lists = [...plan.changes].map(([name, { after }]) => [name, after as Rules] as const)
      const own = plan.changes.get(dataSource)?.after as Rules | undefined
      if (own !== undefined) {
        edit.step({ kind: 'replace', list: own })
        if (plan.note.author !== '' || plan.note.comment !== '') edit.step({ kind: 'note', note: plan.note })
      }
      setProblem(lists.length === 0 ? 'The plan changes no rules.' : undefined)
      const isStored = own !== undefined && sameRules(own, stored)
      const others = lists.filter(([name]) => name !== dataSource)
      setOpened({ others, changed: [], isStored })
      const storedNow = await fetchStored([...plan.changes.keys()], caller?.state.read === true)
      const changed = await changedSincePlan(plan, storedNow)
      // Another plan may have been opened in the meantime.
      setOpened((current) => (current?.others === others ? { ...current, changed } : current))
    } catch (error) {
      setOpened(undefined)
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
      {opened && <AboutPlan plan={opened} />}
    </>
  )
}

/** Fetches the stored rules of the whole cluster if the user may read them all; otherwise, those of some datasources. */
async function fetchStored(names: readonly string[], canReadAll: boolean): Promise<StoredNow> {
  if (canReadAll && hasCluster()) {
    const all = await fetchJson<Record<string, RuleJson[]>>('/svc/coordinator/v1/rules')
    return { rules: new Map(Object.entries(all)), isComplete: true }
  }
  const lists = names.map(async (name) => [name, await fetchJson<RuleJson[]>(rulesPathOf(name))] as const)
  const found = await Promise.allSettled(lists)
  return {
    rules: new Map(found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))),
    isComplete: false,
  }
}

const maxNamed = 10

/** Which of the rules in an opened plan are outdated, and what else it changes. */
function AboutPlan({ plan: { others, changed, isStored } }: { readonly plan: OpenedPlan }) {
  return (
    <>
      {isStored && <p className="hint">The rules for this datasource in the plan are already stored.</p>}
      {changed.length > 0 && (
        <Notice kind="warning" role="status">
          This plan is outdated: the rules of {visible(listOfNames(changed))} have changed since it was
          created. <code>./svc apply</code> refuses it. Applying the edit here replaces the current rules.
        </Notice>
      )}
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

function listOfNames(names: readonly string[]): string {
  const shown = names
    .slice(0, maxNamed)
    .map((name) => (name === defaultRulesName ? 'the cluster defaults' : name))
  const left = names.length - shown.length
  return formatList([...shown, ...(left > 0 ? [countOf(left, 'other datasource')] : [])])
}
