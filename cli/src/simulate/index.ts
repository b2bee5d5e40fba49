/** A cluster of virtual servers and virtual segments, and what becomes of it. */
export * from './run-simulation.ts'
export * from './virtual-segments.ts'
