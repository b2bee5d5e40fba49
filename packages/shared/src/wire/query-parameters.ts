import { type Interval, parseInterval } from '@svc/domain/time'
import { z } from 'zod'

/** A query parameter that counts by being there, whatever its value (`?full`). */
export const presence = z
  .unknown()
  .optional()
  .transform((value) => value !== undefined)

/** A query parameter that names a datasource. */
export const datasourceParameter = z
  .string({ error: 'one text, given once' })
  .refine((name) => !name.includes('/'), { error: 'the name of a datasource, without [/]' })

/** A query parameter that is a positive whole number. */
export const positiveCount = z
  .string({ error: 'one text, given once' })
  .regex(/^[1-9]\d{0,8}$/, {
    error: 'a whole number from 1 to 999999999',
  })
  .transform(Number)

/** A query parameter that is an ISO 8601 interval. */
export const intervalParameter = z
  .string({ error: 'one text, given once' })
  .transform((text): Interval => parseInterval(text))
