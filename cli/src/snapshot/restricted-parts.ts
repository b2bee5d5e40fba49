import { isGroupPattern, type Permission, parsePermissions } from '@svc/domain/access'
import { describeError, Failure, invalidInput } from '@svc/domain/failure'
import {
  optional,
  type Reader,
  readAnyObject,
  readFields,
  readFlag,
  readInteger,
  readList,
  readName,
  readText,
} from '@svc/domain/validation'
import { countNamePatternSteps } from '@svc/shared/security'
import type { SnapshotProblems } from './snapshot-problems.ts'
import {
  type RestrictedPartName,
  restrictedPartFiles,
  type Seen,
  type SnapshotSource,
} from './snapshot-source.ts'

// Clusters may have more than the usual limit of lists.
const anyNumber = { max: Number.MAX_SAFE_INTEGER }
const readNames = readList(readText, anyNumber)
const readCount = readInteger(0, Number.MAX_SAFE_INTEGER)
const readCounts = readFields({
  datasourcesWithUsedSegments: readNames,
  servedSegments: readEntries(readCount),
  usedBytes: readEntries(readCount),
  // Exports of earlier versions, and files saved with curl, do not have it.
  mayReadEveryDatasource: optional(readFlag),
})
const readSupervisors = readList(readFields({ id: readText, type: optional(readText), suspended: readFlag }))
const readStores = readFields({
  authenticators: readEntries(readNames),
  authorizers: readEntries(
    readFields({
      roles: readAnyObject,
      users: readEntries(readNames),
      groupMappings: readEntries(readFields({ groupPattern: readText, roles: readNames })),
    }),
  ),
})

/** Reads an object whose entries have the same type. */
function readEntries<Value>(read: Reader<Value>): Reader<Readonly<Record<string, Value>>> {
  return (json, field) => {
    const object = readAnyObject(json, field)
    return Object.fromEntries(
      Object.entries(object).map(([name, value]) => [name, read(value, `${field}.${name}`)]),
    )
  }
}

/**
 * What a source counts itself: its datasources with used segments, the served segments of each datasource, and the bytes
 * of each server; also whether the login may read every datasource.
 */
export type SourceCounts = ReturnType<typeof readCounts>

export type SourceSupervisor = ReturnType<typeof readSupervisors>[number]

/** Users, roles, and group mappings of one authorizer. */
export interface SourceAuthorizer {
  readonly roles: ReadonlyMap<string, readonly Permission[]>
  /** Names of roles by user. */
  readonly users: ReadonlyMap<string, readonly string[]>
  readonly groupMappings: ReadonlyMap<
    string,
    { readonly groupPattern: string; readonly roles: readonly string[] }
  >
}

/** The users of a source, without passwords. */
export interface SourceSecurity {
  /** Names of the users who can log in, by authenticator. */
  readonly authenticators: ReadonlyMap<string, readonly string[]>
  readonly authorizers: ReadonlyMap<string, SourceAuthorizer>
}

/** Parts of a source that not every user may read. */
export interface RestrictedParts {
  readonly counts: Seen<SourceCounts>
  readonly supervisors: Seen<readonly SourceSupervisor[]>
  readonly security: Seen<SourceSecurity>
}

/** The parts as they are written to files. */
export type RawRestrictedParts = Readonly<Record<RestrictedPartName, Seen<unknown>>>

/** Reads the parts of a source that not every user may read. */
export async function readRestrictedParts(source: SnapshotSource): Promise<RawRestrictedParts> {
  const supervisors = await source.restrictedPart('supervisors')
  const security = await source.restrictedPart('security')
  return { supervisors, security, counts: await source.restrictedPart('counts') }
}

/** Checks the parts; records invalid ones as problems. */
export function parseRestrictedParts(raw: RawRestrictedParts, problems: SnapshotProblems): RestrictedParts {
  const parse = <Value>(name: RestrictedPartName, read: (value: unknown) => Value): Seen<Value> => {
    const part = raw[name]
    if ('unseen' in part) return part
    const value = attempt(problems, restrictedPartFiles[name], () => read(part.value))
    return value === undefined ? { unseen: `[${restrictedPartFiles[name]}] is invalid` } : { value }
  }
  return {
    counts: parse('counts', (value) => readCounts(value, 'counts')),
    supervisors: parse('supervisors', (value) => readSupervisors(value, 'supervisors')),
    security: parse('security', (value) => readSecurity(value, problems)),
  }
}

/** The counts before and after the placement was read: segments that were loaded or dropped meanwhile do not count. */
export function smallerCounts(before: Seen<unknown>, after: Seen<unknown>): Seen<unknown> {
  if ('unseen' in before) return before
  if ('unseen' in after) return after
  const [first, second] = [readCounts(before.value, 'counts'), readCounts(after.value, 'counts')]
  const smaller = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(a).map(([name, count]) => [name, Math.min(count, b[name] ?? 0)]))
  const value: SourceCounts = {
    datasourcesWithUsedSegments: first.datasourcesWithUsedSegments.filter((name) =>
      second.datasourcesWithUsedSegments.includes(name),
    ),
    servedSegments: smaller(first.servedSegments, second.servedSegments),
    usedBytes: smaller(first.usedBytes, second.usedBytes),
    mayReadEveryDatasource: second.mayReadEveryDatasource,
  }
  return { value }
}

const readEntryName = readName()

function readSecurity(document: unknown, problems: SnapshotProblems): SourceSecurity {
  const { authenticators, authorizers } = readStores(document, 'security')
  const isValid = (name: string): boolean =>
    attempt(problems, restrictedPartFiles.security, () => readEntryName(name, 'name')) !== undefined
  return {
    authenticators: new Map(
      Object.entries(authenticators).map(([store, users]) => [store, users.filter(isValid)]),
    ),
    authorizers: new Map(
      Object.entries(authorizers).map(([store, { roles, users, groupMappings }]) => [
        store,
        {
          roles: new Map(
            Object.entries(roles).flatMap(([role, permissions]) => {
              const read = attempt(problems, `${restrictedPartFiles.security} role [${role}]`, () =>
                parsePermissions(permissions, countNamePatternSteps),
              )
              return read && isValid(role) ? [[role, read] as const] : []
            }),
          ),
          users: new Map(Object.entries(users).filter(([user]) => isValid(user))),
          groupMappings: new Map(
            Object.entries(groupMappings).filter(([mapping, { groupPattern }]) =>
              attempt(problems, `${restrictedPartFiles.security} group mapping [${mapping}]`, () => {
                if (!isGroupPattern(groupPattern))
                  throw invalidInput(
                    `Invalid value [${groupPattern}] for [groupPattern]: expected [*], a distinguished name, [*,suffix], or [prefix,*]`,
                  )
                return isValid(mapping)
              }),
            ),
          ),
        },
      ]),
    ),
  }
}

/** The parsed value; undefined if it is invalid, which is recorded as a problem. */
export function attempt<Value>(
  problems: SnapshotProblems,
  where: string,
  read: () => Value,
): Value | undefined {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    problems.note(`${where}: ${describeError(error)}`)
    return undefined
  }
}
