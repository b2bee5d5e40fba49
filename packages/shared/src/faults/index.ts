/** Faults that users inject into a simulation, as applied by the target servers. */
export {
  type Faults,
  faultsConfigName,
  followFaults,
  loadFaults,
  noFaults,
  ownCallPath,
  slowedBy,
} from './follow-faults.ts'
