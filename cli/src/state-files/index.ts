/** YAML files of a declared state: read with positions, and written with their comments. */
export * from './state-files.ts'
export * from './write-state.ts'
