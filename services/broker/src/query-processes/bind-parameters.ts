import type { DuckDBPreparedStatement } from '@duckdb/node-api'
import { invalidInput } from '@svc/domain/failure'
import type { Parameter } from '../sql/index.ts'

const integerTypes = new Set(['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT'])
const textTypes = new Set(['CHAR', 'VARCHAR'])
const maxExactInteger = Number.MAX_SAFE_INTEGER
const numberTypes = new Set(['DECIMAL', 'FLOAT', 'REAL', 'DOUBLE'])

/** Binds the parameters of a query. Rejects with an invalidInput Failure if their number or a value is invalid. */
export async function bindParameters(
  prepared: DuckDBPreparedStatement,
  parameters: readonly Parameter[],
): Promise<void> {
  if (prepared.parameterCount !== parameters.length) {
    throw invalidInput(
      `The query has [${prepared.parameterCount}] parameters, but [parameters] has [${parameters.length}] values: expected one value for each parameter`,
    )
  }
  for (const [index, parameter] of parameters.entries()) {
    await bindParameter(prepared, index + 1, parameter, index)
  }
}

/** Binds the value of `parameters[index]` to a position of a statement, from 1. */
export async function bindParameter(
  prepared: DuckDBPreparedStatement,
  place: number,
  { type, value }: Parameter,
  index: number,
): Promise<void> {
  const { DuckDBDateValue, DuckDBTimestampValue } = await import('@duckdb/node-api')
  const kind = type.toUpperCase()
  const refuse = (allowed: string) =>
    invalidInput(`Invalid value [${value}] for [parameters[${index}].value]: expected ${allowed}`)
  if (
    (integerTypes.has(kind) || textTypes.has(kind)) &&
    Number.isInteger(value) &&
    !Number.isSafeInteger(value)
  )
    throw refuse(
      `a number from [-${maxExactInteger}] to [${maxExactInteger}], or a string to preserve all digits`,
    )
  if (value === null) prepared.bindNull(place)
  else if (textTypes.has(kind)) prepared.bindVarchar(place, String(value))
  else if (kind === 'BOOLEAN') prepared.bindBoolean(place, value === true || value === 'true')
  else if (integerTypes.has(kind)) {
    if (!/^-?\d{1,19}$/.test(String(value))) throw refuse(`an integer for type [${type}]`)
    const number = BigInt(String(value))
    if (BigInt.asIntN(64, number) !== number) throw refuse('a 64-bit integer')
    prepared.bindBigInt(place, number)
  } else if (numberTypes.has(kind)) {
    const number = Number(value)
    if (value === '' || !Number.isFinite(number)) throw refuse(`a number for type [${type}]`)
    prepared.bindDouble(place, number)
  } else {
    const ms = typeof value === 'number' ? value : Date.parse(withZone(String(value)))
    if (!Number.isFinite(ms))
      throw refuse('an ISO 8601 time or a number of milliseconds since the Unix epoch')
    if (kind === 'DATE') prepared.bindDate(place, new DuckDBDateValue(Math.floor(ms / 86_400_000)))
    else prepared.bindTimestamp(place, new DuckDBTimestampValue(BigInt(Math.round(ms)) * 1000n))
  }
}

/** Returns a time with its time zone; UTC if it has none. */
const withZone = (text: string): string =>
  /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text) ? `${text.replace(' ', 'T')}Z` : text
