import type { Endpoint } from '../support/route-tables.ts'
import type { InputClass } from './input-classes.ts'

/** What a document may contain, in addition to its size in bytes, where a route limits that. */
export interface CountLimits {
  readonly maxValues?: number
  readonly maxNames?: number
  readonly maxDepth?: number
}

const probeBytes = 16 * 1024
// What the probe shows per byte is not exact for longer documents.
const margin = 0.95

/**
 * Returns the largest size in bytes with which a document of this class stays within all limits of its endpoint. It gets
 * further than a larger one, which is rejected for its size. Undefined if the class does not make JSON.
 */
export function fittingSize({ part, build }: InputClass, { body }: Endpoint): number | undefined {
  if (part !== 'body' || !body) return undefined
  const { maxValues, maxNames, maxDepth } = body as CountLimits
  const counts = countJson(build(probeBytes).body?.toString() ?? '')
  if (!counts) return undefined
  const factors = [
    (maxValues ?? Number.POSITIVE_INFINITY) / counts.values,
    (maxNames ?? Number.POSITIVE_INFINITY) / counts.names,
    // Only documents that get deeper with their length are shortened for their depth.
    counts.depth > (maxDepth ?? Number.POSITIVE_INFINITY)
      ? maxDepth! / counts.depth
      : Number.POSITIVE_INFINITY,
  ]
  return Math.floor(Math.min(body.limitBytes, margin * probeBytes * Math.min(...factors)))
}

/** Number of values, of different names of fields, and of levels; undefined if the text is not JSON. */
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
