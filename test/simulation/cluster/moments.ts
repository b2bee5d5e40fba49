/**
 * What a server does: it changes a table of the metadata store, or it sends or receives requests of leaders. The start of a fault
 * is a moment, too, with the ID of the fault.
 */
export type Moment = 'leases' | 'segments' | 'tasks' | 'rules' | 'requests' | 'fault'

/** Waits for what servers do, because faults at these moments have the most effects. */
export class Moments {
  private waiting: { readonly moment: Moment; readonly instance: string; readonly callback: () => void }[] =
    []

  /** Calls back once when an instance, or any of a store, does this. Returns a function that stops waiting, and whether it did. */
  next(moment: Moment, instance: string | undefined, callback: () => void): () => boolean {
    const one = { moment, instance: instance ?? '', callback }
    this.waiting.push(one)
    return () => {
      const isWaiting = this.waiting.includes(one)
      this.waiting = this.waiting.filter((other) => other !== one)
      return isWaiting
    }
  }

  happened(moment: Moment, instance: string | undefined): void {
    const due = this.waiting.filter(
      (one) => one.moment === moment && (one.instance === '' || one.instance === instance),
    )
    if (due.length === 0) return
    this.waiting = this.waiting.filter((one) => !due.includes(one))
    for (const { callback } of due) callback()
  }
}
