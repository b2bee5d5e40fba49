import { type Interval, parseInterval } from '@svc/domain/time'
import { z } from 'zod'

/** A query parameter that is true if present, regardless of its value (`?full`). */
export const presence = z
  .unknown()
  .optional()
  .transform((value) => value !== undefined)

/** A query parameter that names a datasource. */
export const datasourceParameter = z
  .string({ error: 'a single string' })
  .refine((name) => !name.includes('/'), { error: 'the name of a datasource without [/]' })

/** A query parameter that is a positive integer. */
export const positiveCount = z
  .string({ error: 'a single string' })
  .regex(/^[1-9]\d{0,8}$/, {
    error: 'an integer from 1 to 999999999',
  })
  .transform(Number)

/** A query parameter that is an ISO 8601 interval. */
export const intervalParameter = z
  .string({ error: 'a single string' })
  .transform((text): Interval => parseInterval(text))
