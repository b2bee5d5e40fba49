import { type Failure, invalidInput } from '@svc/domain/failure'

/** Line and column of a byte of a text, both from 1; the column counts characters. */
function placeOf(text: string, byteOffset: number): { line: number; column: number } {
  const before = Buffer.from(text).subarray(0, byteOffset).toString('utf8')
  const lineStart = before.lastIndexOf('\n') + 1
  const column = [...before.slice(lineStart)].length + 1
  return { line: before.split('\n').length, column }
}

// What DuckDB says where an expression has no place of its own.
const nowhere = Number.MAX_SAFE_INTEGER

// The parser repeats names of any length.
const maxMessageLength = 1000

/** What is wrong with a query, with its place if that is known. */
export function queryFailure(text: string, byteOffset: number | undefined, problem: string): Failure {
  const message = problem.slice(0, maxMessageLength)
  if (byteOffset === undefined || byteOffset >= nowhere) return invalidInput(message)
  const { line, column } = placeOf(text, byteOffset)
  return invalidInput(`Line [${line}], column [${column}]: ${message}`, {
    line: String(line),
    column: String(column),
  })
}
