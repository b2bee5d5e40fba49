import type { RequestBatch } from '../redis/index.ts'

/** Which leader asked, and when by its own clock. */
export type RequestStamp = Pick<RequestBatch, 'term' | 'sentAtMs'>

/**
 * What a server has heard of leaders, which says whose requests it carries out: those of the latest leader, but for
 * what that leader has declared void, because it could not know whether it was received.
 */
export class HeardLeader {
  private latestTerm = 0
  private voidUntilMs = 0
  private readonly atWork = new Set<RequestStamp>()

  /** The fencing number of the latest leader; 0 without any. */
  get term(): number {
    return this.latestTerm
  }

  /** Takes in what a leader says of itself; whether it is news. */
  hear(term: number, voidUntilMs = 0): boolean {
    if (term < this.latestTerm || (term === this.latestTerm && voidUntilMs <= this.voidUntilMs)) return false
    this.latestTerm = term
    this.voidUntilMs = voidUntilMs
    return true
  }

  /** Whether a request is not to be carried out. */
  isVoid({ term, sentAtMs }: RequestStamp): boolean {
    return term < this.latestTerm || (term === this.latestTerm && sentAtMs <= this.voidUntilMs)
  }

  /** Notes that a request is being carried out until the returned function is called. */
  begin(stamp: RequestStamp): () => void {
    this.atWork.add(stamp)
    return () => this.atWork.delete(stamp)
  }

  /** Until when the requests of the latest leader are void and none of them is at work any more; 0 for none. */
  confirmedVoidUntilMs(): number {
    return [...this.atWork].some((stamp) => this.isVoid(stamp)) ? 0 : this.voidUntilMs
  }
}
