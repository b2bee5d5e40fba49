import path from 'node:path'
import type { Election } from '@svc/shared/discovery'
import { type AnnouncedNode, shownTaskId } from '@svc/shared/postgres'
import type { RequestBatch } from '@svc/shared/redis'
import type { Entry, SeenSegment } from '../../faults/history.ts'
import { dataSources, tiers } from '../../faults/schedule.ts'
import type { SimulatedProcess } from '../kernel/index.ts'
import type { Commit } from '../stand-ins/postgres/store.ts'
import type { SegmentEntry, TaskEntry } from '../stand-ins/postgres/tables.ts'
import { checksumOf } from './checksum.ts'
import type { ClusterObserver, SimulatedCluster } from './cluster.ts'
import { cacheFolder, deepStorageFolder } from './layout.ts'
import { PublicationWatch } from './publication-watch.ts'
import { RuleWatch } from './rule-watch.ts'

// A copy that a bad disk lost counts as held for this time, in which the cluster replaces it.
const lostCopyMs = 120_000
// A drop that was requested while a segment was unused may take effect so much later.
const lateDropMs = 120_000

// A server that had a fault may not report for this time.
const troubleMs = 60_000
// Callers wait for this time at most.
const maxQueryMs = 11_000

// Tables whose changes are moments for faults.
const moments = ['leases', 'segments', 'tasks', 'rules'] as const

const noRows: ReadonlyMap<string, never> = new Map<string, never>()
const cachedSegments = `${cacheFolder}/segments`

interface RulesRow {
  readonly rules: string
}

const incomingFolder = `${deepStorageFolder}/.incoming`

const storedFiles = new Map<string, string>()

/** Returns where deep storage has a file. The files of all segments are looked up often. */
function storedFile(relativePath: string): string {
  let file = storedFiles.get(relativePath)
  if (file === undefined) {
    file = path.join(deepStorageFolder, relativePath)
    storedFiles.set(relativePath, file)
  }
  return file
}

/** A leader between a gain and a loss. */
interface Reign {
  readonly process: SimulatedProcess
  readonly role: string
  readonly election: Election
  from: number
}

/**
 * Watches a cluster while it runs: writes the history that the check of the fault tests reads, and checks after each step what
 * must never be wrong, even for a moment.
 */
export class Observer implements ClusterObserver {
  readonly entries: Entry[] = []
  private readonly cluster: SimulatedCluster
  private readonly startedAtMs: number
  private reigns: Reign[] = []
  private readonly seen = new Map<string, SeenSegment>()
  private readonly publications: PublicationWatch
  private readonly rules = new RuleWatch(() => this.now())
  private isCacheChanged = false
  /** When any instance last had a fault. */
  private lastTroubleAt = Number.NEGATIVE_INFINITY
  private brokerProcess: SimulatedProcess | undefined
  private brokerKnowsSince = Number.POSITIVE_INFINITY
  /** Used segments that are in a cache. */
  private readonly held = new Set<string>()
  /** When segments became unused. */
  private readonly unusedAt = new Map<string, number>()
  /** When a bad disk last lost a copy. */
  private lostCopyAt = Number.NEGATIVE_INFINITY

  constructor(cluster: SimulatedCluster) {
    this.cluster = cluster
    this.startedAtMs = cluster.scheduler.nowMs
    for (const segment of cluster.store.tables.segments.rows.values())
      this.seen.set(segment.id, seenSegment(segment))
    this.record({ type: 'segments', from: 0, until: 0, changed: [...this.seen.values()] })
    this.publications = new PublicationWatch(cluster, this)
    cluster.store.onCommit = (commit) => this.noteCommit(commit)
    cluster.onBatch = (process, batch) => this.checkBatch(process, batch)
    cluster.scheduler.afterStep = () => this.afterStep()
    for (const instance of Object.values(tiers).flat()) this.watchCache(instance)
    cluster.machines.get('deep-storage')!.disk.onChange = (changed) => this.checkRemoval(changed)
    this.checkCaches()
    for (const { process, role, election } of cluster.elections)
      if (this.leads(process, election)) this.begin(process, role, election)
    this.noteLeases()
  }

  private watchCache(instance: string): void {
    const { machines, requests } = this.cluster
    const { disk } = machines.get(instance)!
    const isCache = (changed: string): boolean => changed.startsWith(cachedSegments)
    disk.onChange = (changed) => {
      if (isCache(changed)) requests.noteRemoval(instance, changed)
      if (isCache(changed) || changed === '/') this.isCacheChanged = true
    }
    disk.onRenamed = (changed) => {
      if (!isCache(changed)) return
      this.isCacheChanged = true
      requests.noteAppearance(instance, changed)
    }
  }

  /** Milliseconds since the start of the history. */
  now(): number {
    return this.cluster.scheduler.nowMs - this.startedAtMs
  }

  record(entry: Entry): void {
    this.entries.push(entry)
  }

  violation(invariant: string, what: string): void {
    this.cluster.violations.push({ invariant, what })
  }

  /** Notes that a bad disk may have lost copies. */
  noteLostCopies(): void {
    this.lostCopyAt = this.now()
    this.isCacheChanged = true
  }

  /** Notes that there is or was a fault. */
  noteTrouble(): void {
    this.lastTroubleAt = this.now()
  }

  /**
   * Whether the broker has known, since before the oldest query that may be running, which segments have a copy. It forgets what
   * historicals served before it started, and learns from a historical that a bad disk has lost a copy.
   */
  knowsServed(): boolean {
    return this.now() - this.brokerKnowsSince > maxQueryMs && !this.mayLackCopies()
  }

  private mayLackCopies(): boolean {
    return this.now() - this.lostCopyAt < lostCopyMs
  }

  /** Notes the time at which the broker first knew what all historicals serve. */
  lookAtBroker(): void {
    const broker = this.cluster.servers.get('broker')
    const { process } = this.cluster.machines.get('broker')!
    if (process !== this.brokerProcess) {
      this.brokerProcess = process
      this.brokerKnowsSince = Number.POSITIVE_INFINITY
    }
    if (broker === undefined || this.brokerKnowsSince !== Number.POSITIVE_INFINITY) return
    const all = Object.values(tiers).flat().length
    const { discovery, readiness } = broker.context
    if (readiness.isReady() && discovery.nodes('historical').length === all)
      this.brokerKnowsSince = this.now()
  }

  noteGain(process: SimulatedProcess, role: string, election: Election): void {
    for (const other of this.cluster.elections)
      if (other.role === role && other.election !== election && this.leads(other.process, other.election))
        this.violation(
          'there is one leader at a time, and it is the one with the lease',
          `[${process.machine.name}] became the [${role}] leader while [${other.process.machine.name}] was the leader`,
        )
    this.begin(process, role, election)
  }

  noteLoss(election: Election): void {
    this.end((reign) => reign.election === election)
  }

  /** Ends the reigns of a process that was killed or that hangs. */
  noteStop(process: SimulatedProcess | undefined): void {
    this.end((reign) => reign.process === process)
  }

  /** Checks that a process that hung has noticed what happened in the meantime. */
  noteContinue(process: SimulatedProcess): void {
    for (const { process: owner, role, election } of this.cluster.elections)
      if (owner === process && this.leads(process, election)) this.noteGain(process, role, election)
  }

  /** Ends all reigns, for the end of the history. */
  endReigns(): void {
    this.end(() => true)
    this.noteLeases()
  }

  private begin(process: SimulatedProcess, role: string, election: Election): void {
    this.reigns.push({ process, role, election, from: this.now() })
  }

  private end(isOver: (reign: Reign) => boolean): void {
    for (const { role, process, from } of this.reigns.filter(isOver))
      this.record({ type: 'claim', from, until: this.now(), role, instance: process.machine.name })
    this.reigns = this.reigns.filter((reign) => !isOver(reign))
  }

  private leads(process: SimulatedProcess, election: Election): boolean {
    if (!process.isAlive || process.isPaused) return false
    let term: number | undefined
    process.enter(() => {
      term = election.term()
    })
    return term !== undefined
  }

  private afterStep(): void {
    if (!this.isCacheChanged) return
    this.isCacheChanged = false
    this.checkCaches()
  }

  /** A segment that every list of rules loads stays in at least one cache, from its first load until it becomes unused. */
  private checkCaches(): void {
    const cached = new Set<string>()
    for (const instance of Object.values(tiers).flat()) {
      const folder = this.cluster.machines.get(instance)!.disk.find(cachedSegments)
      if (folder?.kind === 'folder') for (const name of folder.entries.keys()) cached.add(name)
    }
    for (const { id, dataSource, state } of this.seen.values()) {
      if (dataSource === dataSources.ruled || state !== 'used') continue
      if (cached.has(id)) this.held.add(id)
      else if (this.held.has(id)) {
        if (this.mustKeep(id))
          this.violation(
            'a segment that rules load is in at least one cache',
            `Segment [${id}] is in no cache`,
          )
        this.held.delete(id)
      }
    }
  }

  /** Whether a segment must stay in at least one cache. */
  mustKeep(id: string): boolean {
    const { dataSource, state } = this.seen.get(id) ?? {}
    if (dataSource === undefined || dataSource === dataSources.ruled || state !== 'used') return false
    const mayBeLost = this.mayLackCopies()
    const wasUnused = this.now() - (this.unusedAt.get(id) ?? Number.NEGATIVE_INFINITY) < lateDropMs
    return this.held.has(id) && !mayBeLost && !wasUnused && !this.isTierGone(dataSource)
  }

  /**
   * The number of replicas of a segment that a leader may not go below: as many as rules require. None if the server is one that
   * gives its segments to others, whose replicas count for nothing.
   */
  minReplicas(id: string, instance: string): number {
    const { dataSource } = this.seen.get(id) ?? {}
    if (dataSource === undefined || this.rules.isLeaving(instance)) return 0
    const isThere = (server: string): boolean =>
      !this.rules.isLeaving(server) && !this.cluster.presence.wasGone(server, troubleMs)
    return this.rules.minReplicas(dataSource, (tier) => tiers[tier]!.filter(isThere).length)
  }

  /**
   * Whether the tiers of a rule had no server that could load segments: none was there, or it had to give its segments to others.
   * As in Druid, the rule then requires no replicas.
   */
  private isTierGone(dataSource: string): boolean {
    if (dataSource === dataSources.stable) return false
    const isGone = (tier: string): boolean =>
      tiers[tier]!.every(
        (instance) => this.cluster.presence.wasGone(instance, troubleMs) || this.rules.isLeaving(instance),
      )
    return this.rules.namedTiers(dataSource, lateDropMs).some((named) => named.every(isGone))
  }

  /** Whether any instance has had a fault in the last `ms`. */
  wasTroubled(ms: number): boolean {
    return this.now() - this.lastTroubleAt < ms
  }

  private noteCommit({ changes, from }: Commit): void {
    const { tables } = this.cluster.store
    const of = <Row>(table: object): ReadonlyMap<string, Row | undefined> =>
      (changes.get(table as never) ?? noRows) as ReadonlyMap<string, Row | undefined>
    for (const node of of<AnnouncedNode>(tables.nodes).values())
      if (node !== undefined) this.cluster.presence.noteAnnounced(node.host)
    if (of(tables.leases).size > 0) this.noteLeases()
    for (const [name, row] of of<RulesRow>(tables.rules)) this.rules.noteRules(name, row?.rules ?? '[]')
    this.rules.noteConfig(of(tables.configs))
    const segments = of<SegmentEntry>(tables.segments)
    if (segments.size > 0) {
      this.publications.check(segments)
      this.noteSegments(segments)
      this.checkMarks(segments, from)
    }
    const tasks = of<TaskEntry>(tables.tasks)
    if (tasks.size > 0) this.publications.noteTasks(tasks, segments)
    for (const moment of moments) if (of(tables[moment]).size > 0) this.cluster.moments.happened(moment, from)
  }

  private noteLeases(): void {
    const at = this.now()
    const leases = [...this.cluster.store.tables.leases.rows.values()].map(({ role, node, term }) => ({
      role,
      instance: node.split(':', 1)[0]!,
      term,
    }))
    // Renewals change nothing that the check needs, except that the term was still valid.
    const last = this.entries.at(-1)
    if (last?.type === 'leases' && JSON.stringify(last.leases) === JSON.stringify(leases)) return
    this.record({ type: 'leases', from: at, until: at, leases })
  }

  private noteSegments(changed: ReadonlyMap<string, SegmentEntry | undefined>): void {
    const at = this.now()
    const news: SeenSegment[] = []
    for (const [id, segment] of changed) {
      const before = this.seen.get(id)
      const after = segment === undefined ? { ...before!, state: 'gone' as const } : seenSegment(segment)
      if (before?.state === after.state) continue
      this.seen.set(id, after)
      news.push(after)
      if (after.state === 'used') continue
      this.unusedAt.set(id, at)
      this.held.delete(id)
    }
    if (news.length === 0) return
    // A look right before shows that nothing had changed until then.
    this.record({ type: 'segments', from: at, until: at, changed: [] })
    this.record({ type: 'segments', from: at, until: at, changed: news })
  }

  /** Only the leader marks segments on its own, and only because of rules that are in force. */
  private checkMarks(changed: ReadonlyMap<string, SegmentEntry | undefined>, from: string | undefined): void {
    const { leases, rules } = this.cluster.store.tables
    for (const segment of changed.values()) {
      const cause = segment?.cause
      if (segment?.used !== false || (cause?.kind !== 'dropRule' && cause?.kind !== 'overshadowed')) continue
      const leader = leases.rows.get('coordinator')?.node.split(':', 1)[0]
      if (from !== leader)
        this.violation(
          'nothing is decided under an old term',
          `[${from}] marked segment [${segment.id}], but the leader is [${leader}]`,
        )
      if (cause.kind !== 'dropRule') continue
      const inForce = (name: string): number => rules.rows.get(name)?.auditId ?? 0
      if (cause.rulesId !== inForce(segment.dataSource) || cause.defaultRulesId !== inForce('_default'))
        this.violation(
          'segments become unused only because of rules in force',
          `Segment [${segment.id}] was marked because of rules that had been replaced`,
        )
    }
  }

  /** Returns the state of a segment's file in deep storage. */
  fileState({ payload: { loadSpec } }: SegmentEntry): 'sound' | 'missing' | 'damaged' {
    const file = this.cluster.machines.get('deep-storage')!.disk.find(storedFile(loadSpec.path))
    if (file?.kind !== 'file') return 'missing'
    return checksumOf(file.data) === loadSpec.checksum ? 'sound' : 'damaged'
  }

  /** A file is removed from deep storage only after its segment. */
  private checkRemoval(changed: string): void {
    if (changed.startsWith(incomingFolder)) return
    for (const { id, payload } of this.cluster.store.tables.segments.rows.values()) {
      const file = storedFile(payload.loadSpec.path)
      if (file.startsWith(changed) && (file.length === changed.length || file[changed.length] === '/'))
        this.violation('files are deleted after their segments', `The file of segment [${id}] was removed`)
    }
  }

  /** Leaders send requests only in the term in which they decided. */
  private checkBatch(process: SimulatedProcess, batch: RequestBatch): void {
    const terms = this.cluster.elections
      .filter((one) => one.process === process && one.role === 'coordinator')
      .map(({ election }) => election.term())
    if (!terms.includes(batch.term))
      this.violation(
        'nothing is decided under an old term',
        `[${process.machine.name}] sent requests of term ${batch.term} in term ${terms.join() || 'none'}`,
      )
  }
}

/** Returns a stored segment as the history has it. */
export function seenSegment({ id, dataSource, interval, version, used, taskId }: SegmentEntry): SeenSegment {
  return {
    id,
    dataSource,
    day: new Date(interval.start).toISOString().slice(0, 10),
    version,
    state: used ? 'used' : 'unused',
    task: taskId === null ? null : shownTaskId(taskId),
  }
}
