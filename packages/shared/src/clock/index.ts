/** The simulated clock: one time for the entire cluster, stored in the metadata store and followed by every server. */
export { decideClockChange, readClockChange } from './clock-change.ts'
export { createSimulatedClock, type SimulatedClock } from './simulated-clock.ts'
