/** Faults that users switch on in a simulation: what they are, whom they strike, and when they end. */
export * from './fault.ts'
