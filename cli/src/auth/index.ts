/** Explains access decisions of a cluster. */
export { type Explanation, explainAccess } from './explain-access.ts'
export { explanationText } from './explanation-text.ts'
export * from './refusal-text.ts'
export * from './refusals.ts'
