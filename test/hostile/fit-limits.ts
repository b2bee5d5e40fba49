import type { Endpoint } from '../support/route-tables.ts'
import type { InputClass } from './input-classes.ts'

/** Limits of a document in addition to its size in bytes, if a route has such limits. */
export interface CountLimits {
  readonly maxValues?: number
  readonly maxNames?: number
  readonly maxDepth?: number
}

const probeBytes = 16 * 1024
// The ratios that the probe shows are not exact for longer documents.
const margin = 0.95

/**
 * Returns the largest size in bytes at which a document of this class is within all limits of its endpoint.
 * Such a document costs more than a larger one, which is rejected for its size. Undefined if the class does
 * not produce JSON.
 */
export function fittingSize({ part, build }: InputClass, { body }: Endpoint): number | undefined {
  if (part !== 'body' || !body) return undefined
  const { maxValues, maxNames, maxDepth } = body as CountLimits
  const counts = countJson(build(probeBytes).body?.toString() ?? '')
  if (!counts) return undefined
  const factors = [
    (maxValues ?? Number.POSITIVE_INFINITY) / counts.values,
    (maxNames ?? Number.POSITIVE_INFINITY) / counts.names,
    // Only shorten documents for their depth if they get deeper with their length.
    counts.depth > (maxDepth ?? Number.POSITIVE_INFINITY)
      ? maxDepth! / counts.depth
      : Number.POSITIVE_INFINITY,
  ]
  return Math.floor(Math.min(body.limitBytes, margin * probeBytes * Math.min(...factors)))
}

/** Counts the values, different field names, and levels of a text; undefined if the text is not JSON. */
function countJson(text: string): { values: number; names: number; depth: number } | undefined {
  let level: unknown[]
  try {
    level = [JSON.parse(text)]
  } catch {
    return undefined
  }
  const names = new Set<string>()
  let values = 0
  let depth = 0
  while (level.length > 0) {
    values += level.length
    depth += 1
    const next: unknown[] = []
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue
      if (!Array.isArray(value)) for (const name of Object.keys(value)) names.add(name)
      for (const inner of Object.values(value)) next.push(inner)
    }
    level = next
  }
  return { values, names: names.size, depth }
}
