/** Runs a cluster of virtual servers and segments, and measures it. */
export * from './latencies.ts'
export * from './run-simulation.ts'
export * from './virtual-segments.ts'
