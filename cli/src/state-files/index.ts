/** YAML files of a declared state: read with positions, and written with their comments. */
export { readPolicyFile } from './read-policy.ts'
export * from './state-files.ts'
export * from './write-state.ts'
