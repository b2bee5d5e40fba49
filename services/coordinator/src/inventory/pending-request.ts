/** A request that was sent to a server and is not answered yet. */
export interface PendingRequest {
  readonly action: 'load' | 'drop'
  readonly sizeBytes: number
  /** Milliseconds of the process's own clock. */
  readonly sentAtMs: number
  /** A load that is to take the place of the copy of this server. */
  readonly replaces?: string
}
