import type { LoadingServer } from './copies.ts'

/** A server with what the present run has already given it to load. */
export interface ServerDraft {
  readonly server: LoadingServer
  /** Used and to be loaded; drops of this run free nothing before they are done. */
  filledBytes: number
  queuedLoads: number
}

/** A server as the run finds it. */
export function draftOf(server: LoadingServer): ServerDraft {
  return {
    server,
    filledBytes: server.usedSizeBytes + server.loadingSizeBytes,
    queuedLoads: server.loading.size,
  }
}

/** How full the server is once its queue is done: 1 is full, and a server without any room is fuller than that. */
export function fillOf({ server, filledBytes }: ServerDraft): number {
  return server.maxSizeBytes > 0 ? filledBytes / server.maxSizeBytes : Infinity
}

/** Whether the segment fits on the server beside all that it has and will have. */
export function hasRoom({ server, filledBytes }: ServerDraft, sizeBytes: number): boolean {
  return filledBytes + sizeBytes <= server.maxSizeBytes
}

/** Notes that the server is to load a segment of this size. */
export function giveLoad(draft: ServerDraft, sizeBytes: number): void {
  draft.filledBytes += sizeBytes
  draft.queuedLoads += 1
}
