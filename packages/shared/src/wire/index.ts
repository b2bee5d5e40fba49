/** Parsing and validation of JSON bodies and query parameters. */

export { withExactLimits } from './exact-limits.ts'
export { endOfPiece, formatInPieces, formatJsonText } from './format-json-text.ts'
export { type JsonLimits, JsonScan } from './json-scan.ts'
export { linesOf } from './lines.ts'
export { parseJsonText } from './parse-json-text.ts'
export {
  historyParameters,
  integerParameter,
  intervalParameter,
  positiveCount,
  presence,
  presenceUnlessFalse,
  severalOf,
  textParameter,
} from './query-parameters.ts'
