/** Why a segment is where it is: the rule that decides, the replicas by tier, what prevents more, and what happens next. */
export * from './explain-rules.ts'
export * from './explain-segment.ts'
export * from './segment-explanation.ts'
