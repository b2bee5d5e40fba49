import { invalidInput } from '@svc/domain/failure'
import type { Settings } from '@svc/shared/config'
import { parserOf } from '@svc/shared/wire'
import { z } from 'zod'
import { type AnswerStyle, resultFormats } from '../query-processes/index.ts'
import type { Parameter } from '../sql/index.ts'
import { limitedParser } from './request-limits.ts'

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

const trueOrFalse = z.boolean({ error: 'true or false' })
const fullRunMs = z
  .union([z.number(), z.string().regex(/^\d+$/).transform(Number)], {
    error: 'a non-negative number of milliseconds',
  })
  .refine((value) => Number.isSafeInteger(value) && value >= 0, {
    error: 'a non-negative number of milliseconds',
  })

const queryId = z
  .string({ error: 'a string of at most 200 characters' })
  .max(200, { error: 'a string of at most 200 characters' })
  // The id is returned in a header, which cannot encode unpaired surrogates.
  .refine((text) => text.isWellFormed(), { error: 'a string without unpaired surrogates' })
  .optional()

/** The context of any query. Unknown keys are ignored, as in Druid 37. */
export const contextSchema = z
  .looseObject(
    {
      timeout: fullRunMs.optional(),
      fromDeepStorage: trueOrFalse.optional(),
      sqlOuterLimit: z.int({ error: 'an integer number of rows' }).optional(),
      sqlQueryId: queryId,
      queryId,
    },
    { error: 'an object' },
  )
  .optional()
  .transform(
    (context): QueryContext => ({
      timeoutMs: context?.timeout,
      fromDeepStorage: context?.fromDeepStorage ?? false,
      // Clients of Druid send a negative limit for no limit.
      outerLimit: (context?.sqlOuterLimit ?? -1) < 0 ? undefined : context?.sqlOuterLimit,
      queryId: context?.sqlQueryId ?? context?.queryId,
    }),
  )

const schema = z
  .strictObject({
    query: z.string({ error: 'a string with one SELECT statement' }),
    parameters: z
      .array(
        z.strictObject({
          type: z
            .string({ error: `one of [${parameterTypes.join(', ')}]` })
            .refine((type) => parameterTypes.includes(type.toUpperCase()), {
              error: `one of [${parameterTypes.join(', ')}]`,
            }),
          value: z.union([z.string(), z.number(), z.boolean(), z.null()], {
            error: 'a string, number, boolean, or null',
          }),
        }),
        { error: 'a list of objects with type and value' },
      )
      .optional(),
    resultFormat: z.enum(resultFormats, { error: `one of [${resultFormats.join(', ')}]` }).optional(),
    header: trueOrFalse.optional(),
    typesHeader: trueOrFalse.optional(),
    sqlTypesHeader: trueOrFalse.optional(),
    context: contextSchema,
    // Some clients also send the query type.
    queryType: z.literal('sql', { error: 'sql' }).optional(),
  })
  .meta({ title: 'SqlQuery' })

/** Parses a SQL request from JSON. Throws invalidInput if it is not valid. */
export const parseSqlRequest = limitedParser(
  parserOf(
    schema,
    { subject: 'body' },
    ({ query, parameters = [], resultFormat = 'object', ...rest }): SqlRequest => {
      const { header = false, typesHeader = false, sqlTypesHeader = false, context } = rest
      if (!header && (typesHeader || sqlTypesHeader)) {
        const field = typesHeader ? 'typesHeader' : 'sqlTypesHeader'
        throw invalidInput(
          `Invalid value [true] for [${field}]: expected [false] unless [header] is [true]`,
          {
            field,
          },
        )
      }
      if (query.includes('\0'))
        throw invalidInput('Invalid value for [query]: expected a string without the character U+0000')
      return {
        query,
        parameters,
        style: { format: resultFormat, header, typesHeader, sqlTypesHeader },
        context,
      }
    },
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
