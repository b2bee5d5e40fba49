/** Querying: which segments, and which rows of them, answer a query. */
export {
  type AnsweringSegment,
  type AnswerPlan,
  type AnswerSnapshot,
  type FormerSegment,
  planAnswer,
  planAnswerInParts,
} from './plan-answer.ts'
export { joinTimes, pruneAnswer, type TimeCondition, timesOf } from './time-condition.ts'
