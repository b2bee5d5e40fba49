/** YAML files of a declared state: read with positions, and written with their comments; also JSON with positions. */
export { type JsonFile, readJson } from './read-json.ts'
export { readPolicyFile } from './read-policy.ts'
export * from './state-files.ts'
export * from './write-state.ts'
