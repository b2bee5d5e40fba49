import { invalidInput } from '@svc/domain/failure'
import {
  converted,
  described,
  omittable,
  type Reader,
  readFields,
  readFlag,
  readList,
  readOneOf,
  readWhole,
  refuse,
  refuseSecret,
  titled,
} from '@svc/domain/validation'
import type { Settings } from '@svc/shared/config'
import { type AnswerStyle, resultFormats } from '../query-processes/index.ts'
import type { Parameter } from '../sql/index.ts'
import { limited } from './request-limits.ts'

/** The body of a SQL request. */
export interface SqlRequest {
  readonly query: string
  readonly parameters: readonly Parameter[]
  readonly style: AnswerStyle
  readonly context: QueryContext
}

/** The context of a query, which controls how it runs. */
export interface QueryContext {
  /** 0 means the maximum that the server allows. */
  readonly timeoutMs: number | undefined
  readonly fromDeepStorage: boolean
  /** Maximum number of rows; the rest is silently left out. Undefined means no limit. */
  readonly outerLimit: number | undefined
  readonly queryId: string | undefined
}

const parameterTypes = [
  'CHAR',
  'VARCHAR',
  'DECIMAL',
  'FLOAT',
  'REAL',
  'DOUBLE',
  'BOOLEAN',
  'TINYINT',
  'SMALLINT',
  'INTEGER',
  'BIGINT',
  'TIMESTAMP',
  'DATE',
]

const timeoutExpected = 'a non-negative number of milliseconds'
const readTimeout: Reader<number> = described(
  { anyOf: [{ type: 'number' }, { type: 'string', pattern: '^\\d+$' }] },
  (json, field) => {
    const value = typeof json === 'string' && /^\d+$/.test(json) ? Number(json) : json
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
      throw refuse(field, json, timeoutExpected)
    return value
  },
)

const maxQueryIdLength = 200
const readQueryId: Reader<string> = described(
  { type: 'string', maxLength: maxQueryIdLength },
  (json, field) => {
    if (typeof json !== 'string' || json.length > maxQueryIdLength)
      throw refuse(field, json, `a string of at most ${maxQueryIdLength} characters`)
    // The id is returned in a header, which cannot encode unpaired surrogates.
    if (!json.isWellFormed()) throw refuse(field, json, 'a string without unpaired surrogates')
    return json
  },
)

const readContext = readFields(
  {
    timeout: omittable(readTimeout),
    fromDeepStorage: omittable(readFlag, false),
    sqlOuterLimit: omittable(readWhole),
    sqlQueryId: omittable(readQueryId),
    queryId: omittable(readQueryId),
  },
  { ignoresOthers: true },
)

/** Reads the context of any query. Unknown keys are ignored, as in Druid 37. */
export const readQueryContext: Reader<QueryContext> = described(readContext, (json, field, problems) => {
  const context = readContext(json === undefined ? {} : json, field, problems)
  const { timeout, fromDeepStorage, sqlOuterLimit = -1, sqlQueryId, queryId } = context
  return {
    timeoutMs: timeout,
    fromDeepStorage,
    // Clients of Druid send a negative limit for no limit.
    outerLimit: sqlOuterLimit < 0 ? undefined : sqlOuterLimit,
    queryId: sqlQueryId ?? queryId,
  }
})

const readParameter: Reader<Parameter> = readFields({
  type: described({ type: 'string' }, (json, field) => {
    if (typeof json !== 'string' || !parameterTypes.includes(json.toUpperCase()))
      throw refuse(field, json, `one of [${parameterTypes.join(', ')}]`)
    return json
  }),
  value: described({ type: ['string', 'number', 'boolean', 'null'] }, (json, field) => {
    if (json !== null && !['string', 'number', 'boolean'].includes(typeof json))
      throw refuse(field, json, 'a string, number, boolean, or null')
    return json as Parameter['value']
  }),
})

const readQueryText: Reader<string> = described({ type: 'string' }, (json, field) => {
  if (typeof json !== 'string') throw refuse(field, json, 'a string with one SELECT statement')
  if (json.includes('\0') || !json.isWellFormed())
    throw refuseSecret(field, 'a string without the character U+0000 and without unpaired surrogates')
  return json
})

/** Reads a SQL request. */
export const readSqlRequest: Reader<SqlRequest> = titled(
  'SqlQuery',
  limited(
    converted(
      readFields({
        query: readQueryText,
        parameters: omittable(
          readList(readParameter, { expected: 'a list of objects with type and value' }),
          [],
        ),
        resultFormat: omittable(readOneOf(resultFormats), 'object'),
        header: omittable(readFlag, false),
        typesHeader: omittable(readFlag, false),
        sqlTypesHeader: omittable(readFlag, false),
        context: readQueryContext,
        // Some clients also send the query type.
        queryType: omittable(readOneOf(['sql'])),
      }),
      ({ query, parameters, resultFormat, header, typesHeader, sqlTypesHeader, context }) => {
        if (!header && (typesHeader || sqlTypesHeader)) {
          const field = typesHeader ? 'typesHeader' : 'sqlTypesHeader'
          throw invalidInput(`Invalid value [true] for [${field}]: [header] must be [true], too`)
        }
        return {
          query,
          parameters,
          style: { format: resultFormat, header, typesHeader, sqlTypesHeader },
          context,
        }
      },
    ),
  ),
)

/** Returns the timeout of a query in milliseconds. Throws invalidInput if it exceeds the maximum. */
export function timeoutOf({ timeoutMs }: QueryContext, settings: Settings): number {
  const maxMs = settings.get('svc.query.maxTimeout')
  if (timeoutMs === undefined) return Math.min(settings.get('svc.query.timeout'), maxMs)
  if (timeoutMs > maxMs) {
    throw invalidInput(
      `Invalid value [${timeoutMs}] for [context.timeout]: expected at most [${maxMs}] ms, the value of [svc.query.maxTimeout]`,
      { field: 'context.timeout' },
    )
  }
  return timeoutMs === 0 ? maxMs : timeoutMs
}
