import { useCaller } from './cluster-queries.ts'
import { useFaults } from './fault-queries.ts'

/** Returns whether a fault cuts off servers at the moment, in a simulation whose state the user may read. */
export function useIsCut(isNeeded: boolean): boolean {
  const { data: caller } = useCaller()
  const { data: faults } = useFaults(isNeeded && caller?.simulation === true && caller.state.read)
  return isNeeded && (faults ?? []).some(({ kind }) => kind === 'cut')
}
