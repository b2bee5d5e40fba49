import { warningsOfChange } from '@svc/shared/coordinator-dynamic-config'
import { compactionSupervisorId } from '@svc/shared/postgres'
import type { Seen, Snapshot, SourceCounts, SourceSupervisor } from '../snapshot/index.ts'
import { countOf, listOf } from '../terminal/index.ts'
import type { ImportDifference, ImportedCounts, UnseenPart } from './import-report.ts'
import type { Placement } from './place-segments.ts'
import type { ImportedSecurity } from './save-security.ts'

/** What an import stored in a home. */
export interface StoredImport {
  readonly snapshot: Snapshot
  /** Number of used segments by datasource. */
  readonly segments: ReadonlyMap<string, number>
  readonly placement: Placement | undefined
  readonly security: ImportedSecurity | undefined
}

/** Counts of what was read. */
export function countsOf({ snapshot, segments, placement, security }: StoredImport): ImportedCounts {
  const { documents, restrictedParts } = snapshot
  const { servers, rules, compaction } = documents
  const supervisors = seenValue(restrictedParts?.supervisors)
  return {
    segments: snapshot.segments,
    overshadowedSegments: snapshot.saysOvershadowed ? snapshot.overshadowed : null,
    unusedSegments: seenValue(restrictedParts?.unused) ?? null,
    sizeBytes: snapshot.sizeBytes,
    datasources: segments.size,
    servers: servers.length,
    tiers: [...new Set(servers.map(({ tier }) => tier))],
    replicas: placement?.replicas ?? null,
    ruleLists: rules.size,
    compactionConfigs: compaction?.configs.length ?? 0,
    suspendedSupervisors: supervisors?.filter(({ suspended }) => suspended).length ?? null,
    users: security ? new Set([...security.logins, ...security.authorizer.users.keys()]).size : null,
    roles: security?.authorizer.roles.size ?? null,
    groupMappings: security?.authorizer.groupMappings.size ?? null,
  }
}

const seenValue = <Value>(seen: Seen<Value> | undefined): Value | undefined =>
  seen && 'value' in seen ? seen.value : undefined

/** How the home differs from its source. */
export function differencesOf(stored: StoredImport): ImportDifference[] {
  const { snapshot } = stored
  const { leftOut, overshadowed, saysOvershadowed, documents } = snapshot
  const waitSeconds = (documents.config?.millisToWaitBeforeDeleting ?? 900_000) / 1000
  return [
    {
      part: 'segments',
      difference: 'have no data, so queries and tasks cannot read them',
      reason: 'virtual servers load segments without files',
    },
    {
      part: 'segments',
      difference: 'hash and range partitions have no bounds',
      reason: 'the number and count of partitions decide which segments are overshadowed',
    },
    ...(leftOut === 0
      ? []
      : [
          {
            part: 'unreadable parts',
            difference: `${leftOut} left out`,
            reason: 'skipped because of --skip-bad',
          },
        ]),
    ...documents.unreadable.map(({ part, effect }) => ({
      part,
      difference: effect,
      reason: 'unreadable in the source',
    })),
    ...(overshadowed === 0
      ? []
      : [
          {
            part: 'overshadowed segments',
            difference: `${overshadowed} will stay used for ${waitSeconds} s after each start of the rehearsal`,
            reason:
              'as in Druid, a new leader waits millisToWaitBeforeDeleting before it marks them as unused; in the source, this wait may already be over',
          },
        ]),
    ...(saysOvershadowed
      ? []
      : [
          {
            part: 'overshadowed segments',
            difference: `are not counted, and will stay used for ${waitSeconds} s after each start of the rehearsal, which finds them itself`,
            reason: 'the source does not say of every segment whether it is overshadowed',
          },
        ]),
    ...nowUnusedDifferences(snapshot),
    ...(seenValue(snapshot.restrictedParts?.unused)
      ? [
          {
            part: 'unused segments',
            difference:
              'are treated as marked by a request, not by a rule, so --mark-used does not restore them',
            reason: 'the source does not show why a segment is unused',
          },
        ]
      : []),
    ...placementDifferences(stored),
    ...supervisorDifferences(stored),
    ...securityDifferences(stored),
    ...warningsOfChange(documents.config ?? {}).map(({ message }) => ({
      part: 'dynamic configuration of the coordinator',
      difference: message,
      reason: 'svc works differently',
    })),
  ]
}

function nowUnusedDifferences({ nowUnused }: Snapshot): ImportDifference[] {
  if (nowUnused.size === 0) return []
  const count = [...nowUnused.values()].reduce((sum, one) => sum + one, 0)
  return [
    {
      part: 'segments',
      difference: `${countOf(count, 'segment')} of ${listOf([...nowUnused.keys()])} imported as unused`,
      reason:
        'the source listed them as used and, in the list that was read later, as unused; Druid lists a segment as used for up to a minute after it was marked as unused',
    },
  ]
}

function placementDifferences({ snapshot, segments, placement }: StoredImport): ImportDifference[] {
  if (!placement || placement.unlisted.size === 0) return []
  const replicas = [...placement.unlisted].filter(([dataSource]) => segments.has(dataSource))
  const count = replicas.reduce((sum, [, one]) => sum + one, 0)
  if (count === 0) return []
  return [
    {
      part: 'replicas',
      difference: `${countOf(count, 'replica')} of ${listOf(replicas.map(([name]) => name))} left out`,
      reason: `their segments are not in the list of used segments, because the segments are ${snapshot.leftOut === 0 ? 'either new' : 'unreadable, new,'} or about to be dropped`,
    },
  ]
}

function supervisorDifferences({ snapshot }: StoredImport): ImportDifference[] {
  const supervisors = seenValue(snapshot.restrictedParts?.supervisors) ?? []
  const others = supervisors.filter(({ type }) => type !== 'autocompact')
  const imported = snapshot.documents.compaction?.cluster.useSupervisors
  const idle = imported ? [] : supervisors.filter(({ type }) => type === 'autocompact')
  return [
    ...(others.length === 0
      ? []
      : [
          {
            part: 'supervisors',
            difference: `${listOf(others.map(({ id }) => id))} left out`,
            reason: 'svc supports only compaction supervisors, so no new data arrives',
          },
        ]),
    ...(idle.length === 0
      ? []
      : [
          {
            part: 'compaction supervisors',
            difference: `${listOf(idle.map(({ id }) => id))} left out`,
            reason: 'useSupervisors is off in the source, so its compaction supervisors do not run',
          },
        ]),
  ]
}

function securityDifferences({ snapshot, security }: StoredImport): ImportDifference[] {
  if (!security) return []
  const seen = seenValue(snapshot.restrictedParts?.security)
  const stores = [seen?.authenticators.size ?? 0, seen?.authorizers.size ?? 0]
  return [
    ...(security.logins.size === 0
      ? []
      : [
          {
            part: 'users',
            difference: `${countOf(security.logins.size, 'user')} cannot log in until a password is set with ./svc users password NAME`,
            reason: 'passwords are never exported',
          },
        ]),
    ...(security.keptOwn.length === 0
      ? []
      : [
          {
            part: 'users and roles',
            difference: `the rehearsal has its own ${listOf(security.keptOwn)}, with all permissions`,
            reason: 'every home has its own administrator; ./svc password prints the password',
          },
        ]),
    ...(stores.some((count) => count > 1)
      ? [
          {
            part: 'authenticators and authorizers',
            difference: `the source has ${stores[0]} and ${stores[1]}, which are merged${security.duplicateRoles.length === 0 ? '' : `; these roles exist in several authorizers and have the permissions from the first one: ${listOf(security.duplicateRoles)}`}`,
            reason: 'a home has only one authenticator and one authorizer',
          },
        ]
      : []),
  ]
}

/** A datasource that a login may not read leaves traces only if servers or the load status show it. */
function unseenDatasources(counts: Seen<SourceCounts> | undefined): UnseenPart[] {
  if (seenValue(counts)?.mayReadEveryDatasource !== false) return []
  return [
    {
      part: 'datasources that this user has no permission to read',
      reason:
        'the user does not have READ on all datasource names, and svc cannot detect a hidden datasource that no server has loaded',
    },
  ]
}

/** Druid 37 shows supervisors only to users with WRITE on their datasource. */
function unseenSupervisors(
  { compaction }: Snapshot['documents'],
  supervisors: readonly SourceSupervisor[] | undefined,
): UnseenPart[] {
  if (!compaction?.cluster.useSupervisors || supervisors === undefined) return []
  const seen = new Set(supervisors.map(({ id }) => id))
  const unseen = compaction.configs.filter(({ dataSource }) => !seen.has(compactionSupervisorId(dataSource)))
  if (unseen.length === 0) return []
  return [
    {
      part: 'suspended supervisors',
      reason: `this login cannot see the compaction supervisors of ${listOf(unseen.map(({ dataSource }) => dataSource))} (WRITE on each datasource may be required), so these supervisors run in the rehearsal`,
    },
  ]
}

/** Parts of the source that were not read, and why. */
export function unseenParts({ documents, restrictedParts }: Snapshot): UnseenPart[] {
  const parts: readonly (readonly [part: string, seen: Seen<unknown> | undefined, effect: string])[] = [
    [
      'the segment counts that the source reports',
      restrictedParts?.counts,
      'so svc cannot check whether the login saw everything',
    ],
    [
      'which server has which segments',
      restrictedParts?.placement,
      'so the servers load what the rules require',
    ],
    [
      'suspended supervisors',
      restrictedParts?.supervisors,
      'so all compaction supervisors run in the rehearsal',
    ],
    ['users and roles', restrictedParts?.security, 'so the rehearsal has only its own users and roles'],
    ['unused segments', restrictedParts?.unused, 'so the rehearsal has none'],
  ]
  return [
    ...parts.flatMap(([part, seen, effect]) =>
      seen && 'unseen' in seen ? [{ part, reason: `${seen.unseen}, ${effect}` }] : [],
    ),
    ...unseenDatasources(restrictedParts?.counts),
    ...unseenSupervisors(documents, seenValue(restrictedParts?.supervisors)),
    ...(restrictedParts?.unused === undefined
      ? [{ part: 'unused segments', reason: 'add --unused to import them' }]
      : []),
    ...documents.missing.map((name) => ({
      part: name === 'config' ? 'dynamic configuration of the coordinator' : `${name} configuration`,
      reason: 'the source has no such configuration, so the defaults apply',
    })),
    {
      part: 'lookups, tasks, load queues, audit entries, and server properties',
      reason: 'svc does not read them; set properties with ./svc up --set',
    },
  ]
}
