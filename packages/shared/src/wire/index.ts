/** Parsing and validation of JSON bodies and query parameters. */

export { withExactLimits } from './exact-limits.ts'
export { type JsonLimits, JsonScan, maxNameBytes, maxNumberBytes } from './json-scan.ts'
export { linesOf } from './lines.ts'
export { listOf } from './list-of.ts'
export { parseJson } from './parse-json.ts'
export { parseJsonText } from './parse-json-text.ts'
export { type Parser, parserOf, shapedParser, shapeOf, unparsed } from './parser.ts'
export { datasourceParameter, intervalParameter, positiveCount, presence } from './query-parameters.ts'
