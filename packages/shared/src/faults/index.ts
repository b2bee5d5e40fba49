/** Faults that users switch on in a simulation, as the servers that they aim at carry them out. */
export {
  type Faults,
  faultsConfigName,
  faultsPath,
  followFaults,
  loadFaults,
  noFaults,
  ownCallPath,
  slowedBy,
} from './follow-faults.ts'
