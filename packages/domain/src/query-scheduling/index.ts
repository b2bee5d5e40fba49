/** Chooses which query of which caller runs next, so that callers share the processes of a broker fairly. */
export { type QueueLimits, type RefusedQuery, refusedQuery } from './admission.ts'
export {
  type ActiveQuery,
  type CallerQueries,
  isLong,
  joiningUse,
  maxLong,
  nextStep,
  type SchedulingLimits,
  type SchedulingStep,
} from './next-step.ts'
