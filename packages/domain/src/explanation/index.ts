/**
 * Why a segment is where it is: the rule that decides, the replicas by tier, what prevents more, and what happens next. And
 * what a cluster is doing.
 */
export * from './explain-cluster.ts'
export * from './explain-rules.ts'
export * from './explain-segment.ts'
export * from './explain-task.ts'
export * from './explanation-answer.ts'
export * from './failed-loads.ts'
export { forecastRun, idleRun, type RunForecast } from './forecast-run.ts'
export * from './segment-explanation.ts'
export { wouldBeOvershadowed } from './would-be-overshadowed.ts'
