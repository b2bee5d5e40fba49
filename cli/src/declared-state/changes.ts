import { canonicalJson } from '@svc/domain/json'
import { defaultRulesName } from '@svc/domain/rules'
import type { PlannedChange } from '@svc/domain/saved-plan'
import { isJsonObject } from '@svc/domain/validation'
import type { DeclaredState, Problem } from './parse.ts'
import { definitionOf, meaningOf, type SectionKind } from './sections.ts'
import { fieldAt, keyOf, type LiveState, type Section, whyUnseen } from './state.ts'

/** A difference between the declared state and a cluster. */
export type Change = PlannedChange<SectionKind>

/** The differences between a declared state and a cluster, and what prevents them from being applied. */
export interface Comparison {
  readonly changes: readonly Change[]
  readonly problems: readonly Problem[]
}

/** Compares what files declare with what a cluster has. */
export function compareStates(declared: DeclaredState, live: LiveState): Comparison {
  const changes: Change[] = []
  const problems = declared.problems.filter(
    ({ unlessLive }) => unlessLive === undefined || !isLive(declared, live, unlessLive),
  )
  for (const section of declared.sections.values()) {
    const present = live.sections.get(keyOf(section.path))
    if (present !== undefined) {
      changes.push(...changesOfSection(section, present))
      continue
    }
    const { source } = declared.origins.get(keyOf(section.path))!
    const reason = whyUnseen(live, section.path)
    const message = reason === undefined ? unknownStore(section, live) : `No access: ${reason}`
    problems.push({ source, field: fieldAt(section.path), message, isDenied: reason !== undefined })
  }
  return { changes, problems }
}

/** Whether a cluster has exactly the value of an entry. */
function isLive({ sections }: DeclaredState, live: LiveState, path: readonly string[]): boolean {
  const [section, name] = [keyOf(path.slice(0, -1)), path.at(-1)!]
  const entries = live.sections.get(section)?.entries
  const declared = sections.get(section)
  if (declared === undefined || !entries?.has(name)) return false
  return !differ(declared.kind, name, declared.entries.get(name), entries.get(name))
}

function unknownStore({ path }: Section, live: LiveState): string {
  const [kind, store] = path
  const known = [...live.sections.values()].filter((one) => one.path[0] === kind).map((one) => one.path[1]!)
  return `Unknown name [${store}] in [${kind}]: expected one of [${[...new Set(known)].join(', ')}]`
}

function* changesOfSection({ kind, path, entries }: Section, present: Section): Generator<Change> {
  for (const [name, after] of entries) {
    const before = present.entries.get(name)
    if (!differ(kind, name, before, after)) continue
    const action = isNothing(kind, before) ? 'add' : isNothing(kind, after) ? 'remove' : 'change'
    yield { kind, path: [...path, name], action, before, after }
  }
  if (definitionOf(kind).isPartial) return
  for (const [name, before] of present.entries) {
    // The cluster defaults cannot be removed.
    if (entries.has(name) || isNothing(kind, before) || (kind === 'rules' && name === defaultRulesName))
      continue
    yield { kind, path: [...path, name], action: 'remove', before }
  }
}

/** Whether two values of an entry mean something different; undefined is the value of a missing entry. */
export function differ(kind: SectionKind, name: string, a: unknown, b: unknown): boolean {
  if (isNothing(kind, a) || isNothing(kind, b)) return isNothing(kind, a) !== isNothing(kind, b)
  // Passwords are not compared. A user without one differs from a user who gets one.
  if (kind === 'logins')
    return (givesPassword(a) && lacksPassword(b)) || (givesPassword(b) && lacksPassword(a))
  return canonicalJson(meaningOf(kind, a, name)) !== canonicalJson(meaningOf(kind, b, name))
}

const givesPassword = (login: unknown): boolean => isJsonObject(login) && login.password !== undefined
const lacksPassword = (login: unknown): boolean => isJsonObject(login) && login.hasPassword === false

/** Whether a change is of a field of a configuration that is written as a whole. */
export const isField = ({ kind }: Change): boolean => definitionOf(kind).isPartial

/** Whether a value means the same as none: a datasource with an empty list of rules has no rules of its own. */
export const isNothing = (kind: SectionKind, value: unknown): boolean =>
  value === undefined || (kind === 'rules' && Array.isArray(value) && value.length === 0)
