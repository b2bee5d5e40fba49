/** Stands in for elections: those of the product, which the environment observes. */
import { startElection as start } from '../../../packages/shared/src/discovery/election.ts'
import { environmentOf, runningProcess } from '../environment.ts'

export type { Election, LeadershipChange } from '../../../packages/shared/src/discovery/election.ts'

/** Takes part in an election like the product. */
export const startElection: typeof start = (database, candidate, leaseMs, change, ...rest) => {
  const process = runningProcess()
  const election = start(
    database,
    candidate,
    leaseMs,
    {
      onGain: (term) => {
        observer.onGain()
        change.onGain(term)
      },
      onLoss: () => {
        observer.onLoss()
        change.onLoss()
      },
    },
    ...rest,
  )
  const observer = environmentOf(process).observeElection(process, candidate.role, election)
  return election
}
