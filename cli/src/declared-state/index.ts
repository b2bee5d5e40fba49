/**
 * The configuration that files declare: read from JSON, compared with a cluster, and planned as data. Nothing here reads
 * files or calls a cluster.
 */
export * from './access-problems.ts'
export * from './changes.ts'
export * from './parse.ts'
export * from './plan.ts'
export * from './schema.ts'
export {
  meaningOf,
  type PasswordReference,
  readLogin,
  type SectionKind,
  sectionDefinitions,
} from './sections.ts'
export * from './state.ts'
export * from './written.ts'
