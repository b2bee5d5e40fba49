/** Why segments are where they are, from the state that the leader knows. */
export * from './explanations.ts'
