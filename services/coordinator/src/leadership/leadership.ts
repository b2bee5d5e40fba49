import type { Election } from '@svc/shared/discovery'

/** The term (fencing token) of this server while it is the leader. */
export interface Leadership {
  term(): number | undefined
}

/** Creates a leadership that has no term until it follows an election. */
export function createLeadership(): Leadership & { follow(election: Election): void } {
  let election: Election | undefined
  return {
    term: () => election?.term(),
    follow: (started) => {
      election = started
    },
  }
}
