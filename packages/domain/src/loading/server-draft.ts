/** A server that can hold segments, as it is at the start of a run. */
export interface LoadingServer {
  /** Its number in the segment table. */
  readonly number: number
  readonly name: string
  readonly type: 'historical' | 'broker'
  readonly tier: string
  /** 0 for a server without room for segments. */
  readonly maxSizeBytes: number
  /** Size of the segments that it serves. */
  readonly usedSizeBytes: number
  /** Size of the segments that are queued for loading and not served yet. */
  readonly loadingSizeBytes: number
  /** Number of queued loads. */
  readonly queuedLoads: number
  /** Whether the server is being emptied: it gets no loads, and drops replicas once other servers have them. */
  readonly decommissioning: boolean
}

/** A server with the loads that the current run has assigned to it. */
export interface ServerDraft {
  readonly server: LoadingServer
  /** Index of its tier in the run; -1 for brokers. */
  readonly tier: number
  /** Whether it is a historical that is not decommissioning. */
  readonly active: boolean
  /** Bytes used plus bytes to load. Drops of this run free space only when they are done. */
  filledBytes: number
  queuedLoads: number
  /** Fill level once its queue is done: 1 is full; Infinity for a server without any room for segments. */
  fill: number
  /** The last planned segment, by number, that it cannot load because it already has it, loads it, or drops it. */
  takenFor: number
  /** The last planned segment, by number, that it should drop before other servers do, because it is moving away. */
  leavingFor: number
}

/** Returns the draft of a server at the start of a run. */
export function draftOf(server: LoadingServer, tier = -1): ServerDraft {
  const filledBytes = server.usedSizeBytes + server.loadingSizeBytes
  return {
    server,
    tier,
    active: server.type === 'historical' && !server.decommissioning,
    filledBytes,
    queuedLoads: server.queuedLoads,
    fill: fillOf(server.maxSizeBytes, filledBytes),
    takenFor: -1,
    leavingFor: -1,
  }
}

const fillOf = (maxSizeBytes: number, filledBytes: number): number =>
  maxSizeBytes > 0 ? filledBytes / maxSizeBytes : Infinity

/** Whether the segment fits on the server in addition to everything it has or will load. */
export function hasRoom({ server, filledBytes }: ServerDraft, sizeBytes: number): boolean {
  return filledBytes + sizeBytes <= server.maxSizeBytes
}

/** Assigns a load of this size to the server. */
export function addLoad(draft: ServerDraft, sizeBytes: number): void {
  draft.filledBytes += sizeBytes
  draft.queuedLoads += 1
  draft.fill = fillOf(draft.server.maxSizeBytes, draft.filledBytes)
}
