/** The coordinator dynamic configuration: its fields, their validation, and the limits derived from them. */
export * from './coordinator-config.ts'
