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

/** Returns whether all fields of two servers are equal. Without a loop over their names, because explanations compare many servers. */
export const areEqualServers = (one: LoadingServer, other: LoadingServer): boolean =>
  one.number === other.number &&
  one.name === other.name &&
  one.type === other.type &&
  one.tier === other.tier &&
  one.maxSizeBytes === other.maxSizeBytes &&
  one.usedSizeBytes === other.usedSizeBytes &&
  one.loadingSizeBytes === other.loadingSizeBytes &&
  one.queuedLoads === other.queuedLoads &&
  one.decommissioning === other.decommissioning

/** A server with the loads that the current run has assigned to it. */
export interface ServerDraft {
  readonly server: LoadingServer
  /** Index of its tier in the run; -1 for brokers. */
  readonly tier: number
  /** Whether it is a historical that is not decommissioning. */
  readonly active: boolean
  /** Bytes used plus bytes to load. */
  filledBytes: number
  /** Bytes of replicas that this run drops. Like in Druid, the rest of the run may use their space. */
  freedBytes: number
  queuedLoads: number
  /** Fill level once its queue is done: 1 is full; Infinity for a server without any room for segments. */
  fill: number
  /** The last planned segment, by number, that it cannot load because it already has it, loads it, or drops it. */
  takenFor: number
  /** The last planned segment, by number, that it should drop before other servers do, because it is moving away. */
  leavingFor: number
}

/** Bytes that a server has used once its queued loads are done. */
const filledBytesOf = ({ usedSizeBytes, loadingSizeBytes }: LoadingServer): number =>
  usedSizeBytes + loadingSizeBytes

/** Returns the draft of a server at the start of a run. */
export function draftOf(server: LoadingServer, tier = -1): ServerDraft {
  const filledBytes = filledBytesOf(server)
  return {
    server,
    tier,
    active: server.type === 'historical' && !server.decommissioning,
    filledBytes,
    freedBytes: 0,
    queuedLoads: server.queuedLoads,
    fill: fillOf(server.maxSizeBytes, filledBytes),
    takenFor: -1,
    leavingFor: -1,
  }
}

const fillOf = (maxSizeBytes: number, filledBytes: number): number =>
  maxSizeBytes > 0 ? filledBytes / maxSizeBytes : Infinity

/** Returns the bytes that are free once the server has loaded and dropped everything; negative if it is too full. */
export const roomOn = ({
  server,
  filledBytes,
  freedBytes,
}: Pick<ServerDraft, 'server' | 'filledBytes' | 'freedBytes'>): number =>
  server.maxSizeBytes - filledBytes + freedBytes

/** Whether the segment fits on the server in addition to everything it has or will load, apart from what this run drops. */
export const hasRoom = (draft: Parameters<typeof roomOn>[0], sizeBytes: number): boolean =>
  sizeBytes <= roomOn(draft)

/** Like `hasRoom`, for a server at the start of a run. */
export const hasRoomFor = (server: LoadingServer, sizeBytes: number): boolean =>
  hasRoom({ server, filledBytes: filledBytesOf(server), freedBytes: 0 }, sizeBytes)

/** Assigns a load of this size to the server. */
export function addLoad(draft: ServerDraft, sizeBytes: number): void {
  draft.filledBytes += sizeBytes
  draft.queuedLoads += 1
  updateFill(draft)
}

/** Notes that the run drops a replica of this size from the server. */
export function addDrop(draft: ServerDraft, sizeBytes: number): void {
  draft.freedBytes += sizeBytes
  updateFill(draft)
}

function updateFill(draft: ServerDraft): void {
  draft.fill = fillOf(draft.server.maxSizeBytes, draft.filledBytes - draft.freedBytes)
}
