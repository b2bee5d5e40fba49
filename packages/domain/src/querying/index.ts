/** Querying: which segments, and which of their rows, answer a query. */
export {
  type AnswerPlan,
  type AnswerSnapshot,
  type FormerSegment,
  planAnswer,
  planAnswerInParts,
  pruneAnswer,
} from './plan-answer.ts'
export { isWithinAny, type TimeCondition, timesOf } from './time-condition.ts'
