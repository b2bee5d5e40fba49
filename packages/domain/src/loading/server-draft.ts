/** A server that can hold segments, as a run finds it. */
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
  /** Size of the segments that it was told to load and does not serve yet. */
  readonly loadingSizeBytes: number
  /** Their number. */
  readonly queuedLoads: number
  /** A server that is to be emptied: it gets no loads, and gives up copies once others have them. */
  readonly decommissioning: boolean
}

/** A server with what the present run has already given it to load. */
export interface ServerDraft {
  readonly server: LoadingServer
  /** The place of its tier among those of the run; brokers have none. */
  readonly tier: number
  /** Whether it stays and is a historical. */
  readonly active: boolean
  /** Used and to be loaded; drops of this run free nothing before they are done. */
  filledBytes: number
  queuedLoads: number
  /** How full the server is once its queue is done: 1 is full, and one without any room is fuller than that. */
  fill: number
  /** The last segment, as a count of those planned, that cannot be given to it: it has it, or is busy with it. */
  takenFor: number
  /** The last segment that it is to give up before other servers do: another has been given it instead. */
  leavingFor: number
}

/** A server as the run finds it. */
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

/** Whether the segment fits on the server beside all that it has and will have. */
export function hasRoom({ server, filledBytes }: ServerDraft, sizeBytes: number): boolean {
  return filledBytes + sizeBytes <= server.maxSizeBytes
}

/** Notes that the server is to load a segment of this size. */
export function giveLoad(draft: ServerDraft, sizeBytes: number): void {
  draft.filledBytes += sizeBytes
  draft.queuedLoads += 1
  draft.fill = fillOf(draft.server.maxSizeBytes, draft.filledBytes)
}
