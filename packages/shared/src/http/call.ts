import type { RecordedCall } from '@svc/domain/calls'

/** One call between servers, as seen by one of the two. */
export interface Call extends RecordedCall {
  /** The subject of the peer's certificate; null if it presented none. */
  readonly certificate: string | null
}
