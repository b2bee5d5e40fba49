interface Link {
  readonly callback: (() => void) | undefined
  previous: Link
  next: Link
}

function createRing(): Link {
  const ring = { callback: undefined } as unknown as Link
  ring.previous = ring
  ring.next = ring
  return ring
}

/**
 * Callbacks in the order in which they were added. Most are removed again soon. A Set that changes as often keeps the garbage collector
 * busy: each of its earlier tables refers to the next one, so garbage that has become old keeps new garbage alive.
 */
export class CallbackList {
  private readonly ring = createRing()

  /** Returns a function that removes the callback. */
  add(callback: () => void): () => void {
    const { ring } = this
    const link: Link = { callback, previous: ring.previous, next: ring }
    ring.previous.next = link
    ring.previous = link
    return () => {
      link.previous.next = link.next
      link.next.previous = link.previous
      link.previous = link
      link.next = link
    }
  }

  /** Removes all callbacks, and returns them. */
  takeAll(): (() => void)[] {
    const { ring } = this
    const callbacks: (() => void)[] = []
    for (let link = ring.next; link !== ring; ) {
      const { next } = link
      callbacks.push(link.callback!)
      link.previous = link
      link.next = link
      link = next
    }
    ring.previous = ring
    ring.next = ring
    return callbacks
  }
}
