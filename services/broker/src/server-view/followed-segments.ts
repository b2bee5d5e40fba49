import type { ServedSegmentsAnswer } from '@svc/shared/segment-serving'

/** Why a server no longer serves a segment: the server left or lost it, or it dropped it on request. */
export type Departure = 'lost' | 'dropped'

/** Is notified of every segment that a server starts or stops serving. */
export interface SegmentListener {
  add(id: string): void
  remove(id: string, how: Departure): void
}

/** Position in the changes of a historical. */
export type ChangePosition = ServedSegmentsAnswer['counter']

/** The segments that one historical serves, according to its responses. */
export class FollowedSegments {
  readonly ids = new Set<string>()
  position: ChangePosition = { counter: -1, hash: '' }
  private readonly listener: SegmentListener

  constructor(listener: SegmentListener) {
    this.listener = listener
  }

  /**
   * Applies the response to a request for the changes since a position. Of two concurrent requests, the second response
   * may repeat changes that were already applied.
   */
  take(answer: ServedSegmentsAnswer, requested: ChangePosition): void {
    const { counter, hash } = this.position
    const reported = answer.counter
    if (answer.resetCounter) {
      if (reported.hash === hash && reported.counter <= counter) return
      const ids = new Set(answer.requests.map(({ id }) => id))
      // A restarted server may have lost segments on its disk.
      for (const id of this.ids) if (!ids.has(id)) this.remove(id, 'lost')
      for (const id of ids) this.add(id)
    } else {
      if (requested.hash !== hash || reported.counter <= counter) return
      // Each change increments the counter, so changes that are already applied come first.
      for (const { action, id } of answer.requests.slice(counter - requested.counter)) {
        if (action === 'load') this.add(id)
        else this.remove(id, 'dropped')
      }
    }
    this.position = reported
  }

  /** Removes all segments, because the server left. */
  clear(): void {
    for (const id of this.ids) this.remove(id, 'lost')
  }

  private add(id: string): void {
    if (this.ids.has(id)) return
    this.ids.add(id)
    this.listener.add(id)
  }

  private remove(id: string, how: Departure): void {
    if (this.ids.delete(id)) this.listener.remove(id, how)
  }
}
