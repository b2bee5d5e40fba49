import { z } from 'zod'

// Elements that are checked before the next ones: what is wrong with these is reported, and the rest is not looked at.
const sliceLength = 100

// A list is as long as that where nothing else is said.
const usualMax = 10_000

/** A list that is checked slice by slice until one has problems, instead of collecting the problems of all elements. */
const SlicedArray: z.core.$constructor<z.ZodArray> = z.core.$constructor(
  'SlicedArray',
  (list: z.ZodArray, definition) => {
    z.ZodArray.init(list, definition)
    const parseAll = list._zod.parse
    list._zod.parse = (payload, context) => {
      const input: unknown = payload.value
      const { maxLength = Infinity } = definition as { readonly maxLength?: number }
      // The check of the length comes after this and reports it: millions of elements would take seconds before.
      if (Array.isArray(input) && input.length > maxLength) return payload
      if (!Array.isArray(input) || input.length <= sliceLength) return parseAll(payload, context)
      const output: unknown[] = []
      for (let from = 0; from < input.length; from += sliceLength) {
        const slice = parseAll({ value: input.slice(from, from + sliceLength), issues: [] }, context)
        if (slice instanceof Promise)
          throw new TypeError('Elements of a list cannot be checked asynchronously')
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

/** A list of at most `max` elements. Checking it costs no more than its first wrong elements. */
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
