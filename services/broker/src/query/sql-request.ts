import { invalidInput } from '@svc/domain/failure'
import type { Settings } from '@svc/shared/config'
import { type AnswerStyle, type Parameter, resultFormats } from '@svc/shared/query'
import { parserOf } from '@svc/shared/wire'
import { z } from 'zod'
import { limitedParser } from './request-limits.ts'

/** A query as it is asked. */
export interface SqlRequest {
  readonly query: string
  readonly parameters: readonly Parameter[]
  readonly style: AnswerStyle
  readonly context: QueryContext
}

/** What a query says about how it is to be answered. */
export interface QueryContext {
  /** 0 for as long as the server allows. */
  readonly timeoutMs: number | undefined
  readonly fromDeepStorage: boolean
  /** Rows beyond that many are left out, without a word; undefined for none. */
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
const wholeMs = z
  .union([z.number(), z.string().regex(/^\d+$/).transform(Number)], {
    error: 'a number of milliseconds from 0',
  })
  .refine((value) => Number.isSafeInteger(value) && value >= 0, { error: 'a number of milliseconds from 0' })

const queryId = z
  .string({ error: 'a text of at most 200 characters' })
  .max(200)
  // It comes back in a header, which halves of characters cannot be written into.
  .refine((text) => text.isWellFormed(), { error: 'a text of whole characters' })
  .optional()

/** The context of any query; what is not known here is for others, as in the recorded system. */
export const contextSchema = z
  .looseObject(
    {
      timeout: wholeMs.optional(),
      fromDeepStorage: trueOrFalse.optional(),
      sqlOuterLimit: z.int({ error: 'a whole number of rows' }).optional(),
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
      // As recorded of the clients that send it, less than 0 stands for none.
      outerLimit: (context?.sqlOuterLimit ?? -1) < 0 ? undefined : context?.sqlOuterLimit,
      queryId: context?.sqlQueryId ?? context?.queryId,
    }),
  )

const schema = z
  .strictObject({
    query: z.string({ error: 'a text with one SELECT statement' }),
    parameters: z
      .array(
        z.strictObject({
          type: z
            .string({ error: `one of ${parameterTypes.join(', ')}` })
            .refine((type) => parameterTypes.includes(type.toUpperCase()), {
              error: `one of ${parameterTypes.join(', ')}`,
            }),
          value: z.union([z.string(), z.number(), z.boolean(), z.null()], {
            error: 'a text, number, true, false or null',
          }),
        }),
        { error: 'a list of {"type", "value"}' },
      )
      .optional(),
    resultFormat: z.enum(resultFormats, { error: `one of ${resultFormats.join(', ')}` }).optional(),
    header: trueOrFalse.optional(),
    typesHeader: trueOrFalse.optional(),
    sqlTypesHeader: trueOrFalse.optional(),
    context: contextSchema,
    // Some clients say here too which kind of query it is.
    queryType: z.literal('sql', { error: 'sql' }).optional(),
  })
  .meta({ title: 'SqlQuery' })

/** The request that JSON stands for, or an invalidInput failure. */
export const parseSqlRequest = limitedParser(
  parserOf(
    schema,
    { subject: 'body' },
    ({ query, parameters = [], resultFormat = 'object', ...rest }): SqlRequest => {
      const { header = false, typesHeader = false, sqlTypesHeader = false, context } = rest
      if (!header && (typesHeader || sqlTypesHeader)) {
        const field = typesHeader ? 'typesHeader' : 'sqlTypesHeader'
        throw invalidInput(`Invalid value [true] for [${field}]: expected true only where header is true`, {
          field,
        })
      }
      if (query.includes('\0')) throw invalidInput('query has a character U+0000; expected a text without it')
      return {
        query,
        parameters,
        style: { format: resultFormat, header, typesHeader, sqlTypesHeader },
        context,
      }
    },
  ),
)

/** How long a query may take in milliseconds. */
export function timeoutOf({ timeoutMs }: QueryContext, settings: Settings): number {
  const mostMs = settings.get('svc.query.maxTimeout')
  if (timeoutMs === undefined) return Math.min(settings.get('svc.query.timeout'), mostMs)
  if (timeoutMs > mostMs) {
    throw invalidInput(
      `Invalid value [${timeoutMs}] for [context.timeout]: expected a number of milliseconds up to [${mostMs}], the value of [svc.query.maxTimeout]`,
      { field: 'context.timeout' },
    )
  }
  return timeoutMs === 0 ? mostMs : timeoutMs
}
