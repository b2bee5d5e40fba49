import { z } from 'zod'

// Number of elements to validate at a time. If some are invalid, the rest is skipped.
const sliceLength = 100

// Default max length of a list.
const usualMax = 10_000

/** A list that is validated in slices up to the first problem, instead of collecting the problems of all elements. */
const SlicedArray: z.core.$constructor<z.ZodArray> = z.core.$constructor(
  'SlicedArray',
  (list: z.ZodArray, definition) => {
    z.ZodArray.init(list, definition)
    const parseAll = list._zod.parse
    list._zod.parse = (payload, context) => {
      const input: unknown = payload.value
      const { maxLength = Infinity } = definition as { readonly maxLength?: number }
      // A later check reports the length. Validating millions of elements first would take seconds.
      if (Array.isArray(input) && input.length > maxLength) return payload
      if (!Array.isArray(input) || input.length <= sliceLength) return parseAll(payload, context)
      const output: unknown[] = []
      for (let from = 0; from < input.length; from += sliceLength) {
        const slice = parseAll({ value: input.slice(from, from + sliceLength), issues: [] }, context)
        if (slice instanceof Promise) throw new TypeError('List elements cannot be validated asynchronously')
        if (slice.issues.length > 0) {
          payload.issues.push(...slice.issues.map((issue) => withIndexFrom(issue, from)))
          return payload
        }
        output.push(...(slice.value as unknown[]))
      }
      payload.value = output
      return payload
    }
  },
)

function withIndexFrom(issue: z.core.$ZodRawIssue, from: number): z.core.$ZodRawIssue {
  const [index, ...rest] = issue.path ?? []
  return { ...issue, path: [Number(index) + from, ...rest] }
}

/** Returns the schema of a list with at most `max` elements. Validation stops at the first invalid elements. */
export function listOf<Item extends z.ZodType>(
  item: Item,
  { max = usualMax, error, tooLong }: { max?: number; error?: string; tooLong?: string } = {},
): z.ZodArray<Item> {
  const list = new SlicedArray({
    type: 'array',
    element: item,
    ...(error && { error: () => error }),
    ...{ maxLength: max },
  })
  return list.max(max, { error: tooLong ?? `at most ${max} entries` }) as unknown as z.ZodArray<Item>
}
