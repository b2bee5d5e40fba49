import type { RequestBatch } from '../redis/index.ts'

/** Which leader sent a request, and when (on its own clock). */
export type RequestStamp = Pick<RequestBatch, 'term' | 'sentAtMs'>

/**
 * What a server knows about the leader, which decides whose requests it executes: those of the latest leader, except
 * those that this leader has revoked because it could not know whether they were received.
 */
export class KnownLeader {
  private latestTerm = 0
  private voidUntilMs = 0
  private readonly atWork = new Set<RequestStamp>()

  /** The fencing token of the latest leader; 0 if there is none. */
  get term(): number {
    return this.latestTerm
  }

  /** Records a leader's term and revocation time. Returns whether either is new. */
  noteLeader(term: number, voidUntilMs = 0): boolean {
    if (term < this.latestTerm || (term === this.latestTerm && voidUntilMs <= this.voidUntilMs)) return false
    this.latestTerm = term
    this.voidUntilMs = voidUntilMs
    return true
  }

  /** Whether a request must be ignored. */
  isVoid({ term, sentAtMs }: RequestStamp): boolean {
    return term < this.latestTerm || (term === this.latestTerm && sentAtMs <= this.voidUntilMs)
  }

  /** Records that a request is running until the returned function is called. */
  begin(stamp: RequestStamp): () => void {
    this.atWork.add(stamp)
    return () => this.atWork.delete(stamp)
  }

  /**
   * Returns the time up to which requests of the latest leader are revoked, once none of them is running; otherwise 0.
   */
  confirmedVoidUntilMs(): number {
    return [...this.atWork].some((stamp) => this.isVoid(stamp)) ? 0 : this.voidUntilMs
  }
}
