import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type ChangeJournal, type SegmentChange, segmentChanges } from '@svc/domain/inventory'
import type { RulesByName } from '@svc/domain/rules'
import { roles } from '@svc/shared/config'
import { serverPartsOf } from '@svc/shared/coordinator-dynamic-config'
import type { Discovery } from '@svc/shared/discovery'
import {
  loadDataSourcesOfTasks,
  securityChannel,
  type Topic,
  tasksChannel,
  topics,
  topicsChannel,
} from '@svc/shared/postgres'
import type { Logger } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'
import { loadUnavailableServers } from '../answers/index.ts'
import type { ClusterStateTracker, CompleteClusterState } from '../cluster-state/index.ts'
import {
  type FollowedRules,
  loadCoordinatorConfig,
  type SegmentInventory,
  type ServerInventory,
} from '../inventory/index.ts'
import type { Leadership } from '../leadership/index.ts'
import { liveServers } from '../preview/index.ts'
import { type CollectedNotices, collectNotices } from './collected-notices.ts'

/** Number of changes to the segments of a datasource, by kind. */
export type SegmentCounts = Readonly<Record<SegmentChange, number>>

/** What else can change: notices of servers, users and roles, servers that join, leave, or take the lead, and problems that they report. */
export type ChangeTopic = Topic | 'access' | 'nodes' | 'serverProblems'

/** What has changed between two events. */
export interface Changes {
  /** The id of the last event. */
  readonly id: string
  /** The time of the cluster in epoch milliseconds. */
  readonly now: number
  readonly segments: ReadonlyMap<string, SegmentCounts>
  /** Datasources whose rules changed. */
  readonly rules: readonly string[]
  /** Datasources with tasks that were created, started, or ended. */
  readonly tasks: readonly string[]
  /** Whether servers, their replicas, or their load queues changed. */
  readonly servers: boolean
  readonly topics: readonly ChangeTopic[]
  /** Undefined if it is the same as before. */
  readonly clusterState: CompleteClusterState | undefined
}

/** A place in the sequence of events. */
export interface FeedPosition {
  readonly id: string
  /** Changes to segments since then are at this position of the journal. */
  readonly journalPosition: number
}

/** Follows the cluster while callers are interested in its changes. */
export interface ChangeFeed {
  /** Looks for changes now, and returns the position after them. Starts to follow the cluster. */
  current(): Promise<FeedPosition>
  /** Returns the id of the last event that the feed knows; undefined while it does not follow the cluster. */
  lastId(): string | undefined
  /** Returns the position of an event; undefined if what changed since then is unknown. */
  positionOf(id: string): FeedPosition | undefined
  /** The journal of segments since the feed started to follow the cluster. */
  journal(): ChangeJournal | undefined
  /** Returns what changed since an event; undefined if that is unknown. */
  since(id: string): Changes | undefined
  /** Resolves after the next change, or when the signal is aborted. Keeps the feed following. */
  next(signal: AbortSignal): Promise<void>
}

/** State of the cluster that the feed follows. */
interface FollowedState {
  readonly context: Pick<ServiceContext, 'clock' | 'database' | 'discovery' | 'settings'> & {
    readonly logger: Pick<Logger, 'debug'>
  }
  readonly leadership: Leadership
  readonly segments: SegmentInventory
  readonly servers: ServerInventory
  readonly rules: FollowedRules
}

/** What one look at the cluster has found. */
interface Event {
  readonly journalPosition: number
  readonly now: number
  readonly rules: readonly string[]
  readonly tasks: readonly string[]
  readonly servers: boolean
  readonly topics: readonly ChangeTopic[]
  readonly clusterState: CompleteClusterState | undefined
}

/** Notices that the feed collects: datasources with changed tasks, topics, and changes to users and roles. */
type FollowedNotices = Readonly<Record<'tasks' | 'topics' | 'access', CollectedNotices>>

/** What the feed compares with at its next look. */
interface Seen {
  readonly rules: RulesByName
  /** Datasources whose tasks changed since the last look. */
  readonly tasks: readonly string[]
  readonly topics: readonly (Topic | 'access')[]
  readonly servers: string
  readonly nodes: string
  readonly serverProblems: string
  readonly clusterState: string
  readonly minute: number
}

const periodMs = 1000
// How long after its last use the feed still follows, so that pages can reconnect.
const idleMs = 60_000
// Older events are forgotten. A page that has missed more must read everything again.
const maxEvents = 1000
const minuteMs = 60_000

/** Creates a feed. It costs nothing until it is used. */
export function createChangeFeed(
  state: FollowedState,
  clusterState: Pick<ClusterStateTracker, 'current'>,
): ChangeFeed {
  const { database } = state.context
  const notices: FollowedNotices = {
    tasks: collectNotices(database, tasksChannel, () => loadDataSourcesOfTasks(database)),
    topics: collectNotices(database, topicsChannel, async () => topics),
    access: collectNotices(database, securityChannel, async () => ['']),
  }
  let session: Session | undefined
  let looking: Promise<Session> | undefined
  let isFollowing = false
  let usedAtMs = 0
  const waiting = new Set<() => void>()

  /** Looks for changes. Callers at the same time share one look. */
  function look(): Promise<Session> {
    looking ??= observe(state, clusterState, notices, session)
      .then((next) => {
        const isChanged = next !== session || next.isChanged
        session = next
        if (isChanged) for (const wake of [...waiting]) wake()
        return next
      })
      .finally(() => {
        looking = undefined
      })
    return looking
  }

  async function follow(): Promise<void> {
    while (waiting.size > 0 || performance.now() - usedAtMs < idleMs) {
      await pause(periodMs, undefined, { ref: false })
      // While the metadata store is unavailable, nothing changes.
      await look().catch((error) => state.context.logger.debug('Failed to check for changes', { error }))
    }
    isFollowing = false
    session = undefined
    state.segments.table.stopJournal()
    await stopListeningTo(notices).catch((error) =>
      state.context.logger.debug('Failed to stop listening for changes', { error }),
    )
  }

  function use(): void {
    usedAtMs = performance.now()
    if (isFollowing) return
    isFollowing = true
    void follow()
  }

  return {
    current: async () => {
      use()
      // A look in progress may have begun before the last change.
      await looking?.catch(() => undefined)
      return (await look()).last
    },
    lastId: () => session?.last.id,
    positionOf: (id) => session?.positionOf(id),
    journal: () => session?.journal,
    since: (id) => session?.since(id),
    next: (signal) => {
      use()
      return untilWoken(waiting, signal)
    },
  }
}

/** Resolves when a function that it adds to `waiting` is called, or when the signal is aborted. */
function untilWoken(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = (): void => {
    waiting.delete(end)
    signal.removeEventListener('abort', end)
    resolve()
  }
  waiting.add(end)
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  return promise
}

async function observe(
  { context, leadership, segments, servers, rules }: FollowedState,
  clusterState: Pick<ClusterStateTracker, 'current'>,
  notices: FollowedNotices,
  session: Session | undefined,
): Promise<Session> {
  const [known, stored, config, problems] = await Promise.all([
    clusterState.current(),
    rules.current(),
    loadCoordinatorConfig(context.database),
    loadUnavailableServers(context),
    listenTo(notices),
  ])
  await segments.refresh()
  const loading = servers.loadingServers(performance.now(), serverPartsOf(config))
  const now = context.clock.now()
  const queues = [...servers.queues().values()]
  const seen: Seen = {
    rules: stored,
    tasks: notices.tasks.take(),
    topics: [...(notices.topics.take() as Topic[]), ...notices.access.take().map(() => 'access' as const)],
    servers: JSON.stringify([liveServers(loading), servers.changes, queues]),
    nodes: JSON.stringify(knownNodes(context.discovery)),
    serverProblems: JSON.stringify(problems.map(({ role, server, state }) => [role, server, state])),
    clusterState: JSON.stringify(known),
    minute: Math.floor(now / minuteMs),
  }
  const term = leadership.term()
  const continued = session?.term === term ? session : undefined
  const next = continued ?? new Session(term, segments.table.startJournal(), segments.table)
  next.add(seen, now, known)
  return next
}

// All listeners share a connection, which runs one query at a time.
async function listenTo(notices: FollowedNotices): Promise<void> {
  for (const one of Object.values(notices)) await one.ready()
}

async function stopListeningTo(notices: FollowedNotices): Promise<void> {
  for (const one of Object.values(notices)) await one.stop()
}

/** Returns the names of all servers, and the leaders with their terms. */
function knownNodes(discovery: Discovery): readonly unknown[] {
  const leaders = (['coordinator', 'overlord'] as const).map((role) =>
    discovery.hasLeader(role) ? discovery.leader(role) : undefined,
  )
  return [
    roles.map((role) => discovery.nodes(role).map(({ name }) => name)),
    leaders.map((leader) => [leader?.node, leader?.term]),
  ]
}

/** The events of one leader, while it follows the cluster. */
class Session {
  readonly term: number | undefined
  readonly journal: ChangeJournal
  /** Whether the last look has found a change. */
  isChanged = false
  private readonly name = randomUUID().slice(0, 8)
  private readonly table: SegmentInventory['table']
  private readonly events: Event[] = []
  /** The number of the first event in the list. */
  private first = 0
  private seen: Seen | undefined

  constructor(term: number | undefined, journal: ChangeJournal, table: SegmentInventory['table']) {
    this.term = term
    this.journal = journal
    this.table = table
  }

  get last(): FeedPosition {
    return this.at(this.first + this.events.length - 1)
  }

  add(seen: Seen, now: number, clusterState: CompleteClusterState): void {
    const before = this.seen
    const journalPosition = this.journal.position
    const event: Event = {
      journalPosition,
      now,
      rules: changedNames(before?.rules ?? seen.rules, seen.rules),
      tasks: before === undefined ? [] : seen.tasks,
      servers: before?.servers !== seen.servers,
      topics: changedTopics(before, seen),
      clusterState: before?.clusterState === seen.clusterState ? undefined : clusterState,
    }
    this.seen = seen
    this.isChanged =
      before === undefined ||
      journalPosition !== this.events.at(-1)?.journalPosition ||
      event.rules.length + event.tasks.length + event.topics.length > 0 ||
      event.servers ||
      event.clusterState !== undefined ||
      before.minute !== seen.minute
    if (!this.isChanged) return
    this.events.push(event)
    if (this.events.length <= maxEvents) return
    this.events.shift()
    this.first += 1
  }

  positionOf(id: string): FeedPosition | undefined {
    const [name, text, ...rest] = id.split('.')
    const number = Number(text)
    if (name !== this.name || rest.length > 0 || !Number.isInteger(number)) return undefined
    if (number < this.first || number >= this.first + this.events.length) return undefined
    const position = this.at(number)
    return this.journal.isKnown(position.journalPosition) ? position : undefined
  }

  since(id: string): Changes | undefined {
    const from = this.positionOf(id)
    if (from === undefined) return undefined
    const number = Number(id.split('.')[1])
    const missed = this.events.slice(number - this.first + 1)
    return {
      id: this.last.id,
      now: this.events.at(-1)!.now,
      segments: this.countsSince(from.journalPosition),
      rules: [...new Set(missed.flatMap(({ rules }) => rules))],
      tasks: [...new Set(missed.flatMap(({ tasks }) => tasks))],
      servers: missed.some(({ servers }) => servers),
      topics: [...new Set(missed.flatMap(({ topics: ofEvent }) => ofEvent))],
      clusterState: missed.findLast((event) => event.clusterState !== undefined)?.clusterState,
    }
  }

  private at(number: number): FeedPosition {
    const { journalPosition } = this.events[number - this.first]!
    return { id: `${this.name}.${number}`, journalPosition }
  }

  /** Returns the changes up to the last event by datasource. */
  private countsSince(position: number): ReadonlyMap<string, SegmentCounts> {
    const until = this.events.at(-1)!.journalPosition
    const byNumber = new Map<number, Record<SegmentChange, number>>()
    this.journal.forEachSince(
      position,
      (_, datasource, change) => {
        let counts = byNumber.get(datasource)
        if (counts === undefined) {
          counts = Object.fromEntries(segmentChanges.map((kind) => [kind, 0])) as Record<
            SegmentChange,
            number
          >
          byNumber.set(datasource, counts)
        }
        counts[change] += 1
      },
      until,
    )
    return new Map([...byNumber].map(([number, counts]) => [this.table.datasourceNames[number]!, counts]))
  }
}

/** Returns the names whose rules are different, or no longer there. Unchanged lists of rules stay the same objects. */
function changedNames(before: RulesByName, after: RulesByName): string[] {
  if (before === after) return []
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].filter((name) => before.get(name) !== after.get(name))
}

function changedTopics(before: Seen | undefined, seen: Seen): readonly ChangeTopic[] {
  if (before === undefined) return []
  const compared = (['nodes', 'serverProblems'] as const).filter((topic) => before[topic] !== seen[topic])
  return [...seen.topics, ...compared]
}
