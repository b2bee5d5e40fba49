/** How a value from outside is read, or refused: always with the field, the value and what is allowed. */
export * from './control-characters.ts'
export * from './datasource-names.ts'
export * from './near-names.ts'
export * from './readers.ts'
export * from './refuse.ts'
export * from './size-bytes.ts'
