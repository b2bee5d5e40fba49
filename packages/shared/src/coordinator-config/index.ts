/** The dynamic configuration of the coordinator: its fields, what is allowed in them, and the limits that follow. */
export * from './coordinator-config.ts'
