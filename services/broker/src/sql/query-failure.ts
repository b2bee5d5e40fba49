import { type Failure, invalidInput } from '@svc/domain/failure'

/** Returns the line and column of a byte in a text, both from 1. The column counts characters. */
function placeOf(text: string, byteOffset: number): { line: number; column: number } {
  const before = Buffer.from(text).subarray(0, byteOffset).toString('utf8')
  const lineStart = before.lastIndexOf('\n') + 1
  const column = [...before.slice(lineStart)].length + 1
  return { line: before.split('\n').length, column }
}

// DuckDB returns this offset for an expression without a location.
const nowhere = Number.MAX_SAFE_INTEGER

// The parser repeats names, which can have any length.
const maxMessageLength = 1000

/** Returns the failure for an invalid query, with line and column if they are known. */
export function queryFailure(text: string, byteOffset: number | undefined, problem: string): Failure {
  const message = problem.slice(0, maxMessageLength)
  if (byteOffset === undefined || byteOffset >= nowhere) return invalidInput(message)
  const { line, column } = placeOf(text, byteOffset)
  return invalidInput(`Line [${line}], column [${column}]: ${message}`, {
    line: String(line),
    column: String(column),
  })
}
