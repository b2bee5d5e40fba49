/** Reading and validating input. Every error names the field, the value, and what is expected. */
export * from './control-characters.ts'
export * from './datasource-names.ts'
export * from './near-names.ts'
export * from './problems.ts'
export * from './readers.ts'
export * from './refuse.ts'
export * from './similar-name.ts'
export * from './size-bytes.ts'
