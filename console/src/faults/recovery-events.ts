import { countOf, formatCount } from '@svc/domain/text'

/** What a page sees of a cluster at a time. */
export interface Observation {
  /** Roles and names of all servers, virtual ones included. */
  readonly servers: ReadonlySet<string>
  /** The address of each leader. */
  readonly leaders: Readonly<Record<string, string>>
  readonly isSettled: boolean
  /** Visible segments without any replica. */
  readonly unserved: number
  /** Whether the coordinator leader responds. */
  readonly isReachable: boolean
  /** Active faults, as text. */
  readonly faults: ReadonlySet<string>
}

// Names in a sentence about many servers.
const maxNamed = 3

/** Returns what has changed between two observations, in sentences. */
export function eventsBetween(before: Observation, after: Observation): string[] {
  const started = [...after.faults].filter((fault) => !before.faults.has(fault))
  const ended = [...before.faults].filter((fault) => !after.faults.has(fault))
  return [
    ...started.map((fault) => `Fault started: ${fault}.`),
    ...ended.map((fault) => `Fault ended: ${fault}.`),
    ...(before.isReachable === after.isReachable
      ? []
      : [
          after.isReachable
            ? 'The coordinator leader responds again.'
            : 'The coordinator leader does not respond.',
        ]),
    ...serversText(before.servers, after.servers, 'is missing', 'are missing'),
    ...serversText(after.servers, before.servers, 'is back', 'are back'),
    ...Object.entries(after.leaders).flatMap(([role, address]) =>
      before.leaders[role] === undefined || before.leaders[role] === address
        ? []
        : [`The ${role} leader is now ${address}.`],
    ),
    ...(after.unserved === before.unserved ? [] : [unservedText(after.unserved)]),
    ...(after.isSettled === before.isSettled
      ? []
      : [
          after.isSettled
            ? 'The cluster is settled again.'
            : 'The cluster is no longer settled: it is loading, moving, or dropping replicas, or waiting for servers.',
        ]),
  ]
}

/** Says how many segments lack some of their replicas, in addition to those that are not served. */
export const lackingText = (lacking: number): string =>
  `${countOf(lacking, 'more segment lacks', 'more segments lack')} replicas.`

const unservedText = (unserved: number): string =>
  unserved === 0
    ? 'Every segment is served again.'
    : `${countOf(unserved, 'segment is', 'segments are')} not served by any server.`

/** Says which servers are only in the first set. */
function serversText(
  first: ReadonlySet<string>,
  second: ReadonlySet<string>,
  isOne: string,
  areMany: string,
): string[] {
  const only = [...first].filter((server) => !second.has(server))
  if (only.length === 0) return []
  if (only.length <= maxNamed) return only.map((server) => `Server ${server} ${isOne}.`)
  return [`${formatCount(only.length)} servers ${areMany}.`]
}
