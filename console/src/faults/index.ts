/** The screen of faults: the topology of the cluster, faults to inject, and how the cluster recovers. */
export { FaultsScreen } from './faults-screen.tsx'
