import { canonicalJson } from '@svc/domain/json'
import {
  keyOf,
  type Loss,
  losesSegments,
  maxPlanTextLength,
  type PlanContents,
  type PlanFile,
  shortDigest,
} from '@svc/domain/saved-plan'
import type { ChangeNote } from './rules-draft.ts'
import { isRuleList } from './rules-encoding.ts'

/** An edit of the rules of a datasource, and what it depends on. */
export interface EditToSave {
  /** The address of the router. */
  readonly cluster: string
  readonly clusterId: string
  /** ISO 8601. */
  readonly createdAt: string
  /** The author and the comment for the audit history; empty if there are none. */
  readonly note: ChangeNote
  readonly dataSource: string
  readonly before: readonly object[]
  readonly after: readonly object[]
  readonly loss: Loss
  /** All rules of the cluster, by name. */
  readonly stored: Readonly<Record<string, readonly object[]>>
}

async function digestOf(value: unknown): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonicalJson(value)))
  return shortDigest([...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join(''))
}

/** Returns an edit as a plan that ./svc apply accepts. Browsers only compute its ID on pages that were loaded securely. */
export async function planOfEdit({
  dataSource,
  before,
  after,
  note,
  ...edit
}: EditToSave): Promise<PlanFile> {
  const digests = Object.entries(edit.stored).map(
    async ([name, list]) => [keyOf(['rules', name]), await digestOf(list)] as const,
  )
  const contents: PlanContents = {
    cluster: edit.cluster,
    clusterId: edit.clusterId,
    createdAt: edit.createdAt,
    ...textsOf(note),
    changes: [
      {
        kind: 'rules',
        path: ['rules', dataSource],
        action: before.length === 0 ? 'add' : after.length === 0 ? 'remove' : 'change',
        before,
        after,
      },
    ],
    losses: losesSegments(edit.loss) ? { [dataSource]: edit.loss } : {},
    read: Object.fromEntries(await Promise.all(digests)),
  }
  return { version: 1, id: await digestOf(contents), ...contents }
}

/** Returns the parts of a note that are not empty, as one line each. */
const textsOf = (note: ChangeNote): Partial<ChangeNote> =>
  Object.fromEntries(
    Object.entries(note)
      .map(([part, text]) => [
        part,
        text
          .replaceAll(/\p{Cc}/gu, ' ')
          .trim()
          .slice(0, maxPlanTextLength),
      ])
      .filter(([, text]) => text !== ''),
  )

type Rules = readonly object[]

/** The part of a plan about rules, by datasource. */
export interface RulesPlan {
  /** The rules that the plan replaces, and those that it stores instead. */
  readonly changes: ReadonlyMap<string, { readonly before: Rules; readonly after: Rules }>
  /** The digests of all rules of the cluster when the plan was created. */
  readonly digests: ReadonlyMap<string, string>
  /** The author and the comment for the audit history; empty if it has none. */
  readonly note: ChangeNote
}

/** Reads the rules in a plan. Throws an Error if a text is not a plan, or was edited. */
export async function rulesInPlan(text: string): Promise<RulesPlan> {
  const { version, id, ...contents } = parsed(text)
  const notPlan = new Error('The file is not a plan created by this version of svc.')
  if (version !== 1 || !Array.isArray(contents.changes)) throw notPlan
  if ((await digestOf(contents)) !== id)
    throw new Error('The plan was edited or is damaged: its contents do not match its ID.')
  const changes = contents.changes.filter((change) => change?.kind === 'rules')
  // Anyone can write a plan with a matching ID.
  const lists = changes.flatMap(({ before, after }) => [before ?? [], after ?? []])
  if (!lists.every(isRuleList)) throw notPlan
  const read = Object.entries(contents.read ?? {}).map(
    ([key, digest]) => [JSON.parse(key) as string[], digest] as const,
  )
  const { author = '', comment = '' } = contents
  if (typeof author !== 'string' || typeof comment !== 'string') throw notPlan
  return {
    note: { author, comment },
    changes: new Map(
      changes.map(({ path, before, after }) => [
        path.at(-1)!,
        { before: (before ?? []) as Rules, after: (after ?? []) as Rules },
      ]),
    ),
    digests: new Map(
      read.filter(([path]) => path[0] === 'rules').map(([path, digest]) => [path.at(-1)!, digest]),
    ),
  }
}

/** The rules that are stored now. */
export interface StoredNow {
  readonly rules: ReadonlyMap<string, Rules>
  /** Whether they are all rules of the cluster. Otherwise, rules that are not included are unknown. */
  readonly isComplete: boolean
}

/**
 * Returns the datasources whose rules have changed since a plan was created, so that the command line refuses it. Rules that
 * the plan has already stored have not changed.
 */
export async function changedSincePlan(
  { changes, digests }: RulesPlan,
  { rules, isComplete }: StoredNow,
): Promise<string[]> {
  const changed = new Set<string>()
  for (const [name, { before, after }] of changes) {
    const now = rules.get(name) ?? (isComplete ? [] : undefined)
    if (now !== undefined && ![before, after].some((list) => canonicalJson(list) === canonicalJson(now)))
      changed.add(name)
  }
  if (!isComplete) return [...changed].sort()
  const others = new Set([...digests.keys(), ...rules.keys()].filter((name) => !changes.has(name)))
  const none = await digestOf([])
  for (const name of others) {
    const now = await digestOf(rules.get(name) ?? [])
    if ((digests.get(name) ?? none) !== now) changed.add(name)
  }
  return [...changed].sort()
}

function parsed(text: string): Partial<PlanFile> {
  try {
    const json = JSON.parse(text) as unknown
    return typeof json === 'object' && json !== null ? json : {}
  } catch {
    return {}
  }
}
