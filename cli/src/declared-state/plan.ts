import { createHash } from 'node:crypto'
import { invalidInput } from '@svc/domain/failure'
import {
  type PlanContents as Contents,
  digestOf,
  keyOf,
  type Loss,
  maxPlanTextLength,
  type PlanFile,
} from '@svc/domain/saved-plan'
import { formatBytes, formatCount } from '@svc/domain/text'
import { readInstant } from '@svc/domain/time'
import {
  byName,
  converted,
  hasControlCharacter,
  isJsonObject,
  omittable,
  type Reader,
  readCount,
  readFields,
  readList,
  readNumber,
  readOneOf,
  readText,
  refuse,
  showValue,
} from '@svc/domain/validation'
import { type Change, differ } from './changes.ts'
import { assertPossibleChange, isNameInUrl } from './plan-changes.ts'
import { type SectionKind, sectionDefinitions } from './sections.ts'
import { fieldAt, isInPart, type LiveState, valueAt } from './state.ts'

/** What a plan changes, in which cluster, and what it was computed from. */
export type PlanContents = Contents<SectionKind>

/** A plan that can be saved. */
export type Plan = PlanFile<SectionKind>

export type { Loss }

const digest = (value: unknown): string =>
  digestOf(value, (text) => createHash('sha256').update(text).digest('hex'))

/** Returns a plan with an ID. */
export function planOf(contents: PlanContents): Plan {
  return { version: 1, id: digest(contents), ...contents }
}

/** Returns the digest of each entry of a cluster in the sections that changes are about, and in these parts, if there are any. */
export function digestsOf(
  { sections }: LiveState,
  changes: readonly Change[],
  parts: readonly string[] = [],
): Record<string, string> {
  const changed = new Set(changes.map(({ path }) => keyOf(path.slice(0, -1))))
  const entries = [...sections]
    .filter(([key]) => changed.has(key))
    .flatMap(([, { path, entries }]) =>
      [...entries].map(([name, value]) => [[...path, name], value] as const),
    )
    .filter(([at]) => parts.length === 0 || parts.some((part) => isInPart(part, at)))
    .map(([at, value]) => [keyOf(at), digest(value)] as const)
  return Object.fromEntries(entries)
}

/** What became of the changes of a plan. */
export interface PlanState {
  /** Changes that are not applied yet. */
  readonly open: readonly Change[]
  /** What was changed since the plan was made, by others. */
  readonly conflicts: readonly string[]
}

/** Compares a plan with what a cluster has now. */
export function stateOfPlan({ changes, parts, read }: Plan, live: LiveState): PlanState {
  const open: Change[] = []
  const conflicts: string[] = []
  const planned = new Set(changes.map(({ path }) => keyOf(path)))
  for (const change of changes) {
    const progress = progressOf(change, valueAt(live, change.path))
    if (progress === 'open') open.push(change)
    if (progress === 'conflict') conflicts.push(fieldAt(change.path))
  }
  const now = digestsOf(live, changes, parts)
  for (const key of new Set([...Object.keys(read), ...Object.keys(now)]))
    if (!planned.has(key) && read[key] !== now[key]) conflicts.push(fieldAt(JSON.parse(key) as string[]))
  return { open, conflicts: conflicts.sort() }
}

/** Returns whether a change is still open for the current value, is done, or conflicts with another value. */
export function progressOf(change: Change, present: unknown): 'open' | 'done' | 'conflict' {
  const { kind, path, before, after } = change
  const name = path.at(-1)!
  if (!differ(kind, name, present, after)) return 'done'
  return !differ(kind, name, present, before) || isPartlyDone(change, present) ? 'open' : 'conflict'
}

/** Whether a value is between the two of a change that takes several requests, of which only some were made. */
function isPartlyDone({ kind, before, after }: Change, present: unknown): boolean {
  switch (kind) {
    case 'roles':
      return before === undefined && isBetween([], [], present)
    case 'users':
      return isBetween(before ?? [], after ?? [], present)
    case 'groupMappings':
      return isMappingPartlyDone(before, after, present)
    case 'logins':
      return before === undefined && after !== undefined
    default:
      return false
  }
}

/** A pattern is changed by removing the group mapping and creating it again. */
function isMappingPartlyDone(before: unknown, after: unknown, present: unknown): boolean {
  if (present === undefined) return true
  const [old, fresh, now] = [before, after, present].map((value) => (isJsonObject(value) ? value : {}))
  if (now!.groupPattern !== fresh!.groupPattern) return false
  const first = old!.groupPattern === fresh!.groupPattern ? old!.roles : []
  return isBetween(first ?? [], fresh!.roles ?? [], now!.roles ?? [])
}

/** Whether a list has only members of two others, and all that both have. */
function isBetween(first: unknown, second: unknown, present: unknown): boolean {
  if (!Array.isArray(first) || !Array.isArray(second) || !Array.isArray(present)) return false
  return (
    present.every((name) => first.includes(name) || second.includes(name)) &&
    first.every((name) => !second.includes(name) || present.includes(name))
  )
}

const noLoss: Loss = { unqueryable: 0, unqueryableBytes: 0, unused: 0, unusedBytes: 0 }

/** Returns which datasources lose more than planned, in segments or bytes, one phrase each. */
export function grownLosses(
  planned: Readonly<Record<string, Loss>>,
  now: Readonly<Record<string, Loss>>,
): string[] {
  return Object.entries(now).flatMap(([name, loss]) => {
    const before = Object.hasOwn(planned, name) ? planned[name]! : noLoss
    const unqueryable = grown(
      [before.unqueryable, before.unqueryableBytes],
      [loss.unqueryable, loss.unqueryableBytes],
    )
    const unused = grown([before.unused, before.unusedBytes], [loss.unused, loss.unusedBytes])
    return [
      ...(unqueryable === undefined ? [] : [`queryable segments that [${name}] loses: ${unqueryable}`]),
      ...(unused === undefined ? [] : [`segments of [${name}] that are marked as unused: ${unused}`]),
    ]
  })
}

type Amount = readonly [segments: number, bytes: number]

/** Returns both amounts as text if there are more segments or bytes than before; otherwise undefined. */
function grown([segmentsBefore, bytesBefore]: Amount, [segments, bytes]: Amount): string | undefined {
  if (segments <= segmentsBefore && bytes <= bytesBefore) return undefined
  const isRoundedAway = bytes !== bytesBefore && formatBytes(bytes) === formatBytes(bytesBefore)
  const size = isRoundedAway ? (count: number) => `${formatCount(count)} B` : formatBytes
  return `${formatCount(segments)} (${size(bytes)}) instead of ${formatCount(segmentsBefore)} (${size(bytesBefore)})`
}

const anything: Reader<unknown> = (json) => json
const kinds = sectionDefinitions.map(({ kind }) => kind) as [SectionKind, ...SectionKind[]]

const readChange: Reader<Change> = readFields<Change>({
  kind: readOneOf(kinds),
  path: readList(readText, { min: 1, max: 4 }),
  action: readOneOf(['add', 'change', 'remove']),
  before: anything,
  after: anything,
})

/** Maximum number of segments in a plan. */
export const maxUnusedSegments = 100_000

const readBytes = readNumber(0, Number.MAX_VALUE)

const readLoss = readFields<Loss>({
  unqueryable: readCount(0),
  unqueryableBytes: readBytes,
  unused: readCount(0),
  unusedBytes: readBytes,
})

/** Reads an object by names that are checked, too. `expected` completes the sentence "expected …". */
const byCheckedName = <Value>(read: Reader<Value>, isFit: (name: string) => boolean, expected: string) =>
  converted(byName(read), (values, field) => {
    const invalid = Object.keys(values).find((name) => !isFit(name))
    if (invalid === undefined) return values
    throw invalidInput(`Invalid name [${showValue(invalid)}] in [${field}]: expected ${expected}`, {
      field: `${field}.${invalid}`,
    })
  })

/** Whether a text is one that `keyOf` returns for the path of an entry. */
function isKey(text: string): boolean {
  try {
    const path: unknown = JSON.parse(text)
    return Array.isArray(path) && path.length > 0 && path.every((name) => typeof name === 'string')
  } catch {
    return false
  }
}

const readTime: Reader<string> = (json, field) => {
  readInstant(json, field)
  return json as string
}

/** Reads a text that is sent in an HTTP header. */
const readAuditText: Reader<string> = (json, field) => {
  if (typeof json === 'string' && json.length <= maxPlanTextLength && !hasControlCharacter(json)) return json
  throw refuse(field, json, `text of at most ${maxPlanTextLength} characters without control characters`)
}

const readPlanFields = readFields<Plan>({
  version: (json, field) => {
    if (json !== 1) throw refuse(field, json, '[1], the plan format of this version of svc')
    return 1
  },
  id: readText,
  cluster: readText,
  clusterId: omittable(readText),
  createdAt: readTime,
  author: omittable(readAuditText),
  comment: omittable(readAuditText),
  changes: readList(readChange, { max: 1_000_000 }),
  losses: byName(readLoss),
  unusedSegments: omittable(
    byCheckedName(readList(readText, { max: maxUnusedSegments }), isNameInUrl, 'the name of a datasource'),
  ),
  parts: omittable(readList(readText, { min: 1 })),
  read: byCheckedName(readText, isKey, `the path of an entry, such as [${keyOf(['rules', 'wikipedia'])}]`),
})

/** Reads a saved plan. `source` is its file in messages. Throws invalidInput if it is not a plan, or was edited. */
export function parsePlan(json: unknown, source: string): Plan {
  const { version, id, cluster, clusterId, author, comment, unusedSegments, parts, ...others } =
    readPlanFields(json, '')
  const contents = {
    cluster,
    ...(clusterId === undefined ? {} : { clusterId }),
    ...others,
    ...(author === undefined ? {} : { author }),
    ...(comment === undefined ? {} : { comment }),
    ...(unusedSegments === undefined ? {} : { unusedSegments }),
    ...(parts === undefined ? {} : { parts }),
  }
  if (digest(contents) !== id)
    throw invalidInput(
      `Plan [${id}] in [${source}] was edited or is damaged: its contents do not match its ID. Create a new plan with ./svc plan --out.`,
      { field: 'id' },
    )
  for (const [index, change] of contents.changes.entries()) assertPossibleChange(change, `changes[${index}]`)
  return { version, id, ...contents }
}
