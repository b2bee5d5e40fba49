import { isDeepStrictEqual } from 'node:util'
import { grown } from '@svc/domain/inventory'
import type { VirtualServerGroup } from '@svc/shared/config'
import { NumberedSegments } from './numbered-segments.ts'
import { SegmentNumbers } from './segment-numbers.ts'
import { createVirtualServer, isHidden, type VirtualServer } from './virtual-server.ts'

// How long a killed server takes to restart, similar to the process of a real one.
const restartMs = 2000

/** The virtual servers of this process, and the segments that they serve together. */
export class VirtualCluster {
  readonly numbers = new SegmentNumbers()
  /** The segments that at least one visible historical serves. */
  readonly served = new NumberedSegments(this.numbers)
  /** Removed servers that the leader may not know about yet. */
  readonly gone = new Set<string>()
  private readonly byName = new Map<string, VirtualServer>()
  /** Number of visible historicals that serve each segment. */
  private holdersOf = new Int32Array(0)
  private currentGroups: readonly VirtualServerGroup[] = []

  get groups(): readonly VirtualServerGroup[] {
    return this.currentGroups
  }

  get(name: string): VirtualServer | undefined {
    return this.byName.get(name)
  }

  servers(): VirtualServer[] {
    return [...this.byName.values()]
  }

  /** Creates the servers of these groups, removes others, and keeps unchanged ones. `process` is part of their names. */
  replace(groups: readonly VirtualServerGroup[], process: string): void {
    const names = new Set<string>()
    for (const group of groups) {
      const kind = group.type === 'broker' ? `broker-${group.tier}` : group.tier
      for (let number = 1; number <= group.count; number++) {
        const name = group.name ?? `${process}-${kind}-${number}`
        names.add(name)
        this.create(name, group)
      }
    }
    for (const server of this.servers()) {
      if (names.has(server.name)) continue
      this.remove(server)
      this.gone.add(server.name)
    }
    this.currentGroups = groups
  }

  /** Drops the queue of a server and hides it until it restarts with the segments on its disk. */
  kill(server: VirtualServer): void {
    this.hide(server)
    server.livesAgainAtMs = performance.now() + restartMs
    this.clearQueue(server)
  }

  /** Restarts a killed server. */
  revive({ name, group, served, usedSizeBytes }: VirtualServer): void {
    const server = createVirtualServer(name, group, this.numbers)
    for (const segment of served.segments()) server.served.add(segment)
    server.usedSizeBytes = usedSizeBytes
    served.clear()
    this.byName.set(name, server)
    this.show(server)
  }

  /** Hides a server while a fault blocks its reports to the leader. */
  setCut(server: VirtualServer, isCut: boolean): void {
    if (server.isCut === isCut) return
    if (isCut) this.hide(server)
    server.isCut = isCut
    if (!isCut) this.show(server)
  }

  load(server: VirtualServer, segment: number): void {
    if (server.served.has(segment)) return
    server.usedSizeBytes += this.numbers.sizeOf(segment)
    server.served.add(segment)
    this.noteLoaded(server, segment)
  }

  drop(server: VirtualServer, segment: number): void {
    if (!server.served.has(segment)) return
    server.usedSizeBytes -= this.numbers.sizeOf(segment)
    this.noteDropped(server, segment)
    server.served.remove(segment)
  }

  /** Whether the leader knows all servers and all their segments. */
  isAllKnown(): boolean {
    return this.gone.size === 0 && this.servers().every((server) => server.isKnown || isHidden(server))
  }

  /** Records that the leader does not have the list of any server. */
  forgetKnown(): void {
    for (const server of this.byName.values()) server.isKnown = false
  }

  private create(name: string, group: VirtualServerGroup): void {
    const present = this.byName.get(name)
    if (present && isDeepStrictEqual({ ...present.group, count: 0 }, { ...group, count: 0 })) return
    if (present) this.remove(present)
    this.gone.delete(name)
    this.byName.set(name, createVirtualServer(name, group, this.numbers))
  }

  private remove(server: VirtualServer): void {
    this.hide(server)
    this.byName.delete(server.name)
    this.clearQueue(server)
    server.served.clear()
  }

  private clearQueue({ queue }: VirtualServer): void {
    for (const { segment } of queue) this.numbers.release(segment)
    queue.length = 0
  }

  /** Hides the segments of a server from servers that follow this process. */
  private hide(server: VirtualServer): void {
    if (isHidden(server)) return
    for (const segment of server.served.segments()) this.noteDropped(server, segment)
  }

  private show(server: VirtualServer): void {
    if (isHidden(server)) return
    for (const segment of server.served.segments()) this.noteLoaded(server, segment)
  }

  private noteLoaded(server: VirtualServer, segment: number): void {
    if (server.group.type !== 'historical' || isHidden(server)) return
    this.holdersOf = grown(this.holdersOf, segment + 1)
    this.holdersOf[segment]! += 1
    this.served.add(segment)
  }

  private noteDropped(server: VirtualServer, segment: number): void {
    if (server.group.type !== 'historical' || isHidden(server)) return
    this.holdersOf[segment]! -= 1
    if (this.holdersOf[segment] === 0) this.served.remove(segment)
  }
}
