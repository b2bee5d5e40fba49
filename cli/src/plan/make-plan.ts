import path from 'node:path'
import { Failure, invalidInput } from '@svc/domain/failure'
import { defaultRulesName } from '@svc/domain/rules'
import { type ClusterClient, notReady } from '../client/index.ts'
import {
  accessProblems,
  type Change,
  compareStates,
  type DeclaredState,
  digestsOf,
  fieldAt,
  isInPart,
  keyOf,
  type LiveState,
  type PasswordReference,
  type Plan,
  type Problem,
  parseState,
  planOf,
  readLogin,
} from '../declared-state/index.ts'
import { hiddenEntries, readLiveState, readServerSettings } from '../live-state/index.ts'
import { type AnsweredPreview, isKnown, type PreviewRules, unknownReason } from '../preview/index.ts'
import { knownDatasources, unknownDatasource } from '../rules/index.ts'
import { problemsFailure, readStateFiles, type StateFile } from '../state-files/index.ts'
import { warningsOfPlan } from './plan-warnings.ts'
import { effectsOf, lossesOf, previewBodyOf } from './rules-effects.ts'
import { type Step, stepsOf } from './safe-order.ts'
import { clusterIdOf } from './same-cluster.ts'

/** Files, and the configuration that they declare. */
export interface DeclaredFiles {
  readonly files: readonly StateFile[]
  readonly declared: DeclaredState
}

/** Reads a file or folder. Throws a Failure with all problems that no cluster can solve, each with file, line, and column. */
export function readDeclaredFiles(target: string): DeclaredFiles {
  const files = readStateFiles(target)
  const declared = parseState(files)
  const problems = declared.problems.filter(({ unlessLive }) => unlessLive === undefined)
  if (problems.length > 0) throw problemsFailure(files, problems)
  return { files, declared }
}

/** What to compare. */
export interface CompareOptions {
  /** Parts such as `rules.wikipedia`; all if it is empty. */
  readonly parts: readonly string[]
  /** Datasources may have rules before they have data. */
  readonly create: boolean
}

/** What files declare, and what a cluster has. */
export interface ComparedState {
  readonly live: LiveState
  readonly changes: readonly Change[]
  /** The parts to which the changes are limited; all if it is missing or empty. */
  readonly parts?: readonly string[]
}

/** Compares files with a cluster. Throws a Failure with all problems, each with file, line, and column. */
export async function compareFiles(
  client: ClusterClient,
  { files, declared }: DeclaredFiles,
  { parts, create }: CompareOptions,
): Promise<ComparedState> {
  const included = includedIn(declared, parts)
  const names = new Set([...included.sections.values()].map((section) => section.path[0]!))
  const live = await readLiveState(client, names)
  const { changes: all, problems: invalid } = compareStates(included, live)
  const different = partsOf(declared, all, parts)
  const hidden = await hiddenEntries(
    client,
    different.filter(({ action }) => action === 'add'),
  )
  const changes = different.filter(({ path: at }) => !hidden.has(keyOf(at)))
  const problems = [
    ...invalid,
    ...[...hidden].map(([key, reason]) => noAccess(declared, key, reason)),
    ...(create ? [] : await unknownDatasources(client, declared, changes, invalid)),
    ...zeroSlots(client, declared, changes),
    ...(await invalidAccess(client, declared, live, changes)),
  ]
  if (problems.length > 0) throw problemsFailure(files, problems)
  return { live, changes: withPasswordPaths(declared, changes), parts }
}

/** The problem of an entry that the user may not read: it may be the same in the cluster, or different. */
const noAccess = ({ origins }: DeclaredState, key: string, reason: string): Problem => ({
  source: origins.get(key)!.source,
  field: fieldAt(JSON.parse(key) as string[]),
  message: `No access: ${reason}`,
  isDenied: true,
})

/** What files declare in some parts. The user may have no access to the others. */
function includedIn(declared: DeclaredState, parts: readonly string[]): DeclaredState {
  if (parts.length === 0) return declared
  const hasPart = (section: readonly string[]): boolean =>
    parts.some((part) => isInPart(part, section) || part.startsWith(`${fieldAt(section)}.`))
  const isIncluded = (entry: readonly string[]): boolean => parts.some((part) => isInPart(part, entry))
  return {
    ...declared,
    sections: new Map([...declared.sections].filter(([, { path: at }]) => hasPart(at))),
    problems: declared.problems.filter(({ unlessLive = [] }) => isIncluded(unlessLive)),
  }
}

/** What is wrong with changed users and roles. */
async function invalidAccess(
  client: ClusterClient,
  declared: DeclaredState,
  live: LiveState,
  changes: readonly Change[],
): Promise<Problem[]> {
  if (!changes.some(({ path: at }) => at[0] === 'authorizers' || at[0] === 'authenticators')) return []
  return accessProblems(declared, live, changes, await readServerSettings(client))
}

async function unknownDatasources(
  client: ClusterClient,
  { origins }: DeclaredState,
  changes: readonly Change[],
  invalid: readonly Problem[],
): Promise<Problem[]> {
  // A name that is invalid is also unknown.
  const invalidFields = new Set(invalid.map(({ field }) => field))
  const added = changes.filter(
    ({ kind, path: at, action }) =>
      action === 'add' &&
      !invalidFields.has(fieldAt(at)) &&
      (kind === 'compactionDatasources' || (kind === 'rules' && at.at(-1) !== defaultRulesName)),
  )
  if (added.length === 0) return []
  const known = await knownDatasources(client)
  return added
    .filter(({ path: at }) => !known.has(at.at(-1)!))
    .map(({ path: at }) => ({
      source: origins.get(keyOf(at))!.source,
      field: fieldAt(at),
      message: `${unknownDatasource(at.at(-1)!, known)} To plan for data that will arrive later, add --create.`,
    }))
}

/** A cluster of svc may keep a maximum of 0 slots that was imported from Druid, but does not accept a new one. */
function zeroSlots(
  { interfaceName }: ClusterClient,
  { origins }: DeclaredState,
  changes: readonly Change[],
): Problem[] {
  if (interfaceName === 'druid') return []
  return changes
    .filter(
      ({ kind, path: at, after }) =>
        kind === 'compactionCluster' && at.at(-1) === 'maxCompactionTaskSlots' && after === 0,
    )
    .map(({ path: at }) => ({
      source: origins.get(keyOf(at))!.source,
      field: fieldAt(at),
      message: `Invalid value [0] for [${fieldAt(at)}]: expected at least [1]. To stop compaction, remove the compaction of the datasources.`,
    }))
}

/** The changes of some parts. Throws invalidInput for a part that the files and the cluster do not have: it may be a typo. */
function partsOf(
  { origins }: DeclaredState,
  changes: readonly Change[],
  parts: readonly string[],
): readonly Change[] {
  if (parts.length === 0) return changes
  const declared = [...origins.keys()].map((key) => JSON.parse(key) as string[])
  const known = [...declared, ...changes.map((change) => change.path)]
  const unknown = parts.find((part) => !known.some((at) => isInPart(part, at)))
  if (unknown !== undefined) {
    const example = known[0] === undefined ? '' : `, such as [${fieldAt(known[0])}]`
    throw invalidInput(
      `Invalid value [${unknown}] for [--target]: expected a part that is declared in the files or changed by the plan${example}`,
    )
  }
  return changes.filter((change) => parts.some((part) => isInPart(part, change.path)))
}

/**
 * Files with passwords are relative to the YAML file that names them. In a plan, they are relative to the current folder, so that
 * the plan can be applied in another copy of the files.
 */
function withPasswordPaths({ origins }: DeclaredState, changes: readonly Change[]): Change[] {
  return changes.map((change) => {
    if (change.kind !== 'logins' || change.after === undefined) return change
    const { password } = readLogin(change.after, '')
    if (password?.file === undefined) return change
    const { source } = origins.get(keyOf(change.path))!
    const file = path.isAbsolute(password.file)
      ? password.file
      : path.join(path.dirname(source), password.file)
    const reference: PasswordReference = { file }
    return { ...change, after: { password: reference } }
  })
}

/** A plan with what it does. */
export interface MadePlan {
  readonly plan: Plan
  readonly steps: readonly Step[]
  /** Undefined if no rules change. */
  readonly preview: AnsweredPreview | undefined
  readonly warnings: readonly string[]
  readonly scope: PreviewScope
  /** The configuration that was read. */
  readonly live: LiveState
}

/** What a preview includes in addition to the changes. */
export interface PreviewScope {
  /** How far to look ahead, as an ISO 8601 period. */
  readonly horizon?: string
  /** Includes unused segments that rules have marked as unused since the change with this ID. */
  readonly markUsedSince?: number
}

/** Plans changes. Throws a Failure of the kind `unavailable` if the cluster is not known yet. */
export async function makePlan(
  client: ClusterClient,
  { live, changes, parts = [] }: ComparedState,
  preview: PreviewRules,
  now: Date,
  scope: PreviewScope = {},
): Promise<MadePlan> {
  const answer = await previewOf(changes, preview, scope)
  const clusterId = await clusterIdOf(client)
  const plan = planOf({
    cluster: client.routerUrl,
    ...(clusterId === undefined ? {} : { clusterId }),
    createdAt: now.toISOString(),
    changes: changes.map((change) => JSON.parse(JSON.stringify(change)) as Change),
    losses: answer === undefined ? {} : lossesOf(answer),
    ...(answer?.unusedSegments === undefined ? {} : { unusedSegments: answer.unusedSegments }),
    ...(parts.length === 0 ? {} : { parts }),
    read: digestsOf(live, changes, parts),
  })
  const steps = await orderOf(changes, answer, preview)
  return { plan, steps, preview: answer, warnings: warningsOfPlan(changes, answer), scope, live }
}

/** The preview of the rules that change; undefined if none do. Throws a Failure if the cluster is not known yet. */
export async function previewOf(
  changes: readonly Change[],
  preview: PreviewRules,
  scope: PreviewScope = {},
): Promise<AnsweredPreview | undefined> {
  const body = previewBodyOf(changes)
  const answer = body && (await preview({ ...body, ...scope }))
  if (answer !== undefined && !isKnown(answer))
    throw new Failure('unavailable', unknownReason(answer), notReady)
  return answer
}

/** The changes in the order in which they are applied. */
export async function orderOf(
  changes: readonly Change[],
  answer: AnsweredPreview | undefined,
  preview: PreviewRules,
): Promise<readonly Step[]> {
  const none = { effects: new Map(), afterDefaults: new Set<string>() }
  return stepsOf(changes, answer === undefined ? none : await effectsOf(changes, answer, preview))
}
