/** Schemas of responses that several roles return; those of a single role are next to its routes. */
export * from './directory-steps.ts'
export * from './rules.ts'
export * from './segments.ts'
