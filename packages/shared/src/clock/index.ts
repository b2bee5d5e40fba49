/** The simulated clock: one time for the whole cluster, kept in the metadata store and followed by every server. */
export { type ClockChange, decideClockChange, parseClockChange } from './clock-change.ts'
export { createSimulatedClock, type SimulatedClock } from './simulated-clock.ts'
