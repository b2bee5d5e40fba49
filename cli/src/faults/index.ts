/** The faults that are switched on in a running simulation, as people ask for them and are told of them. */
export * from './answered-fault.ts'
