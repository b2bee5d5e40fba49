import { isGroupPattern, type Permission, parsePermissions } from '@svc/domain/access'
import { describeError, Failure, invalidInput } from '@svc/domain/failure'
import { readName } from '@svc/domain/validation'
import { isNamePattern } from '@svc/shared/security'
import { z } from 'zod'
import type { SnapshotProblems } from './snapshot-problems.ts'
import { type DetailName, details, type Seen, type SnapshotSource } from './snapshot-source.ts'

const countsSchema = z.object({
  datasourcesWithUsedSegments: z.array(z.string()),
  servedSegments: z.record(z.string(), z.int()),
  usedBytes: z.record(z.string(), z.int()),
})
const supervisorsSchema = z.array(
  z.object({ id: z.string(), type: z.string().optional(), suspended: z.boolean() }),
)
const securitySchema = z.object({
  authenticators: z.record(z.string(), z.array(z.string())),
  authorizers: z.record(
    z.string(),
    z.object({
      roles: z.record(z.string(), z.unknown()),
      users: z.record(z.string(), z.array(z.string())),
      groupMappings: z.record(z.string(), z.object({ groupPattern: z.string(), roles: z.array(z.string()) })),
    }),
  ),
})

/**
 * What a source counts itself: its datasources with used segments, the served segments of each datasource, and the bytes
 * of each server.
 */
export type SourceCounts = z.infer<typeof countsSchema>

export type SourceSupervisor = z.infer<typeof supervisorsSchema>[number]

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
export interface SnapshotDetails {
  readonly counts: Seen<SourceCounts>
  readonly supervisors: Seen<readonly SourceSupervisor[]>
  readonly security: Seen<SourceSecurity>
}

/** The parts as they are written to files. */
export type RawDetails = Readonly<Record<DetailName, Seen<unknown>>>

/** Reads the parts of a source that not every user may read. */
export async function readRawDetails(source: SnapshotSource): Promise<RawDetails> {
  const supervisors = await source.detail('supervisors')
  const security = await source.detail('security')
  return { supervisors, security, counts: await source.detail('counts') }
}

/** Checks the parts; records invalid ones as problems. */
export function parseDetails(raw: RawDetails, problems: SnapshotProblems): SnapshotDetails {
  const parse = <Value>(name: DetailName, read: (value: unknown) => Value): Seen<Value> => {
    const part = raw[name]
    if ('unseen' in part) return part
    const value = attempt(problems, details[name], () => read(part.value))
    return value === undefined ? { unseen: `[${details[name]}] is invalid` } : { value }
  }
  return {
    counts: parse('counts', (value) => shaped(countsSchema, value)),
    supervisors: parse('supervisors', (value) => shaped(supervisorsSchema, value)),
    security: parse('security', (value) => readSecurity(value, problems)),
  }
}

/** The counts before and after the placement was read: segments that were loaded or dropped meanwhile do not count. */
export function smallerCounts(before: Seen<unknown>, after: Seen<unknown>): Seen<unknown> {
  if ('unseen' in before) return before
  if ('unseen' in after) return after
  const [first, second] = [before, after].map(({ value }) => countsSchema.safeParse(value).data)
  if (!first || !second) return before
  const smaller = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(a).map(([name, count]) => [name, Math.min(count, b[name] ?? 0)]))
  const value: SourceCounts = {
    datasourcesWithUsedSegments: first.datasourcesWithUsedSegments.filter((name) =>
      second.datasourcesWithUsedSegments.includes(name),
    ),
    servedSegments: smaller(first.servedSegments, second.servedSegments),
    usedBytes: smaller(first.usedBytes, second.usedBytes),
  }
  return { value }
}

const readEntryName = readName()

function readSecurity(document: unknown, problems: SnapshotProblems): SourceSecurity {
  const { authenticators, authorizers } = shaped(securitySchema, document)
  const isValid = (name: string): boolean =>
    attempt(problems, details.security, () => readEntryName(name, 'name')) !== undefined
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
              const read = attempt(problems, `${details.security} role [${role}]`, () =>
                parsePermissions(permissions, isNamePattern),
              )
              return read && isValid(role) ? [[role, read] as const] : []
            }),
          ),
          users: new Map(Object.entries(users).filter(([user]) => isValid(user))),
          groupMappings: new Map(
            Object.entries(groupMappings).filter(([mapping, { groupPattern }]) =>
              attempt(problems, `${details.security} group mapping [${mapping}]`, () => {
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

function shaped<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const { data, error } = schema.safeParse(value)
  if (error) {
    const [issue] = error.issues
    throw invalidInput(`Invalid value for [${issue?.path.join('.')}]: ${issue?.message}`)
  }
  return data as Value
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
