/** An unanswered request to a server. */
export interface PendingRequest {
  readonly action: 'load' | 'drop'
  readonly sizeBytes: number
  /** Milliseconds of the monotonic clock of this process. */
  readonly sentAtMs: number
  /** The server whose replica this load replaces. */
  readonly replaces?: string
}
