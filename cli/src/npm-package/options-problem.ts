import type { ClusterOptions } from './testing-types.ts'

const isText = (value: unknown): boolean => typeof value === 'string'
const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const expected = {
  profile: ['a string', isText],
  historicals: ['an object', isObject],
  instances: ['an object', isObject],
  properties: ['an object', isObject],
  adminPassword: ['a string', isText],
  home: ['a string', isText],
  readyTimeoutMs: ['a positive number', (value) => typeof value === 'number' && value > 0],
} as const satisfies Record<keyof ClusterOptions, readonly [string, (value: unknown) => boolean]>

/**
 * What is wrong with the options of `startCluster`, which types do not check in JavaScript; undefined if nothing is. Only says
 * whether they can be sent to another process, which checks names and values.
 */
export function optionsProblem(options: unknown): string | undefined {
  if (!isObject(options)) return 'Invalid options: expected an object'
  for (const [name, value] of Object.entries(options as object)) {
    if (!Object.hasOwn(expected, name)) {
      const names = Object.keys(expected).map((one) => `[${one}]`)
      return `Unknown option [${name}]: expected one of ${names.join(', ')}`
    }
    const [kind, isValid] = expected[name as keyof ClusterOptions]
    if (value !== undefined && !isValid(value)) {
      // The password is a secret, even if it is of the wrong type.
      const shown = name === 'adminPassword' ? '' : ` [${String(value)}]`
      return `Invalid value${shown} for [${name}]: expected ${kind}`
    }
  }
  return undefined
}

/** The request that loads a snapshot. Without a name, which types do not check in JavaScript, it would be a reset. */
export function requestToLoad(name: unknown): { snapshot: string } {
  if (typeof name !== 'string')
    throw new Error(`Invalid value [${String(name)}] for [name]: expected a string`)
  return { snapshot: name }
}
