import { readFileSync } from 'node:fs'
import { type RulesPolicy, readRulesPolicy } from '@svc/domain/rules-policy'
import { hasControlCharacter, parseSizeBytes } from '@svc/domain/validation'
import { parse } from 'yaml'

/** Parses the value of a property. `read` throws a plain `Error` that says what is wrong. */
export interface PropertyType<Value> {
  readonly allowed: string
  read(text: string, environment: NodeJS.ProcessEnv): Value
}

const propertyType = <Value>(
  allowed: string,
  read: (text: string, environment: NodeJS.ProcessEnv) => Value,
): PropertyType<Value> => ({ allowed, read })

const refuse = (): never => {
  throw new Error('not allowed')
}

/** A non-empty string. */
export const text = propertyType('a non-empty string', (value) =>
  value === '' ? refuse() : withoutControlCharacters(value),
)

function withoutControlCharacters(value: string): string {
  if (hasControlCharacter(value)) throw new Error('it contains a control character')
  return value
}

/** The URL of an HTTP service. */
export const httpUrl = propertyType('an http or https URL such as https://s3.example.com', (value) =>
  /^https?:$/.test(URL.parse(value)?.protocol ?? '') ? withoutControlCharacters(value) : refuse(),
)

/** The prefix of object keys; leading and trailing slashes are ignored. */
export const keyPrefix = propertyType(
  'a path such as svc/segments, in which no part is empty, [.], or [..]',
  (value) => {
    const path = value.replace(/^\/|\/$/g, '')
    const parts = path.split('/')
    if (path !== '' && parts.some((part) => ['', '.', '..'].includes(part))) refuse()
    return withoutControlCharacters(path)
  },
)

/** `true` or `false`. */
export const flag = propertyType('true or false', (value) =>
  value === 'true' ? true : value === 'false' ? false : refuse(),
)

/** An integer between two bounds (inclusive). */
export const integer = (min: number, max: number) =>
  propertyType(`an integer from ${min} to ${max}`, (value) => {
    const number = Number(value)
    return /^-?\d+$/.test(value) && number >= min && number <= max ? number : refuse()
  })

/** A TCP port. */
export const port = integer(1, 65535)

/** One of a few words. */
export const oneOf = <const Word extends string>(...words: Word[]) =>
  propertyType(words.length === 1 ? `[${words[0]}]` : `one of [${words.join(', ')}]`, (value): Word => {
    const word = words.find((candidate) => candidate === value)
    return word ?? refuse()
  })

/** A size in bytes: an integer, with an optional unit such as `300g` (decimal) or `5GiB` (binary). */
export const sizeBytes = propertyType(
  'a size in bytes such as 1000000000, 300g, or 5GiB',
  (value) => parseSizeBytes(value) ?? refuse(),
)

/** A size in bytes of at least `minBytes`, which must be a multiple of 1 MiB. */
export const sizeBytesFrom = (minBytes: number) =>
  propertyType(
    `a size in bytes of at least ${minBytes / 2 ** 20} MiB, such as 1000000000, 300g, or 5GiB`,
    (value) => {
      const bytes = parseSizeBytes(value) ?? refuse()
      return bytes >= minBytes ? bytes : refuse()
    },
  )

/** An ISO 8601 duration without years or months, in milliseconds. */
export const periodMs = propertyType(
  'an ISO 8601 duration such as [PT5S] or [P1D], without years or months',
  (value) => {
    const match = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,3})?)S)?)?$/.exec(value)
    if (!match || value === 'P' || value.endsWith('T')) return refuse()
    const [weeks, days, hours, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0)) as [
      number,
      number,
      number,
      number,
      number,
    ]
    return Math.round((((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000)
  },
)

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return refuse()
  }
}

/** A JSON list of strings such as `["a","b"]`. */
export const textList = propertyType(
  'a JSON list of strings such as ["a","b"]',
  (value): readonly string[] => {
    const list = parseJson(value)
    return Array.isArray(list) && list.every((entry) => typeof entry === 'string' && entry !== '')
      ? list.map(withoutControlCharacters)
      : refuse()
  },
)

/** A JSON list of words that can replace `svc` in a path. */
export const aliasList = propertyType(
  'a JSON list of words such as ["druid"]; a word starts with a lowercase letter, has at most 31 lowercase letters and digits, and is not reserved (svc, proxy, status, metrics, interface, main, memory, sys, system, temp)',
  (value): readonly string[] => {
    const list = parseJson(value)
    const isWord = (entry: unknown) =>
      typeof entry === 'string' &&
      /^(?!(svc|proxy|status|metrics|interface|main|memory|sys|system|temp)$)[a-z][a-z0-9]{0,30}$/.test(entry)
    return Array.isArray(list) && list.every(isWord) ? list : refuse()
  },
)

/** A YAML file with a policy for retention rules. It is read when the server starts. */
export const rulesPolicyFile = propertyType(
  'the path of a YAML file with a policy for retention rules',
  (value): RulesPolicy => {
    if (value === '') return refuse()
    // Without aliases, a file cannot expand to more than it contains.
    return readRulesPolicy(parse(readFileSync(value, 'utf8'), { maxAliasCount: 0 }), '')
  },
)

/** A folder in which a data server stores its segments. */
export interface CacheLocation {
  readonly path: string
  readonly maxSizeBytes: number
}

/** A JSON list of folders with their maximum sizes. */
export const cacheLocations = propertyType(
  'a JSON list such as [{"path":"/data/cache","maxSize":"10g"}]',
  (value): readonly CacheLocation[] => {
    const list = parseJson(value)
    if (!Array.isArray(list)) return refuse()
    return list.map((entry: unknown) => {
      if (typeof entry !== 'object' || entry === null) return refuse()
      const { path, maxSize = Number.MAX_SAFE_INTEGER, ...others } = entry as Record<string, unknown>
      const maxSizeBytes = parseSizeBytes(String(maxSize))
      if (typeof path !== 'string' || path === '' || maxSizeBytes === undefined) return refuse()
      return Object.keys(others).length === 0 ? { path, maxSizeBytes } : refuse()
    })
  },
)

/** A group of similar virtual servers in one process. */
export interface VirtualServerGroup {
  readonly count: number
  readonly type: 'historical' | 'broker'
  /** The name of a single server; other names are built from process, tier, and number. */
  readonly name?: string
  readonly tier: string
  readonly priority: number
  readonly maxSizeBytes: number
  /** Bytes that each server loads per second. */
  readonly bytesPerSecond: number
  /** Fraction of loads that fail, from 0 to 1. */
  readonly failureProbability: number
}

/** Maximum number of virtual servers in one process. */
export const maxVirtualServers = 10_000

/** Groups of virtual servers. */
export const virtualServerGroups = propertyType(
  'a JSON list of at most 10000 servers, with one entry for each named server and one for the unnamed servers of each tier and type (historical or broker), such as [{"count":100,"tier":"hot","size":"300g","loadBytesPerSecond":"100MiB","failureProbability":0.01},{"name":"10.0.0.1:8083","tier":"cold","size":"3t"}]',
  (value): readonly VirtualServerGroup[] => readVirtualServerGroups(parseJson(value)),
)

/** Reads groups of virtual servers from JSON. Throws an Error if they are not valid. */
export function readVirtualServerGroups(list: unknown): readonly VirtualServerGroup[] {
  if (!Array.isArray(list)) return refuse()
  const groups = list.map((entry: unknown): VirtualServerGroup => {
    if (typeof entry !== 'object' || entry === null) return refuse()
    const {
      name,
      count = name === undefined ? undefined : 1,
      type = 'historical',
      tier = '_default_tier',
      priority = 0,
      size,
      loadBytesPerSecond = '100MiB',
      failureProbability = 0,
      ...others
    } = entry as Record<string, unknown>
    const maxSizeBytes = parseSizeBytes(String(size))
    const bytesPerSecond = parseSizeBytes(String(loadBytesPerSecond))
    if (typeof count !== 'number' || !Number.isInteger(count) || count < 1) return refuse()
    if (name !== undefined && (typeof name !== 'string' || name === '' || count > 1)) return refuse()
    if (typeof priority !== 'number' || !Number.isInteger(priority)) return refuse()
    if (type !== 'historical' && type !== 'broker') return refuse()
    if (hasControlCharacter(`${name ?? ''}${tier}`)) return refuse()
    if (typeof tier !== 'string' || tier === '' || maxSizeBytes === undefined || !bytesPerSecond)
      return refuse()
    if (typeof failureProbability !== 'number' || !(failureProbability >= 0 && failureProbability <= 1))
      return refuse()
    if (Object.keys(others).length > 0) return refuse()
    const named = name === undefined ? {} : { name }
    return { count, ...named, type, tier, priority, maxSizeBytes, bytesPerSecond, failureProbability }
  })
  const marks = groups.map(({ name, type, tier }) =>
    name === undefined ? `${type} ${tier}` : `name ${name}`,
  )
  if (new Set(marks).size < groups.length) return refuse()
  if (groups.reduce((sum, { count }) => sum + count, 0) > maxVirtualServers) return refuse()
  return groups
}

/** A password, either in plain text or as JSON that names a file or an environment variable with the password. */
export const password = propertyType(
  'a password, {"type":"file","path":"…"}, or {"type":"environment","variable":"…"}',
  (value, environment) => {
    if (!/^\s*\{\s*"/.test(value)) return value
    const provider = parseJson(value) as {
      type?: unknown
      path?: unknown
      variable?: unknown
      password?: unknown
    }
    if (provider.type === 'default' && typeof provider.password === 'string') return provider.password
    if (provider.type === 'file' && typeof provider.path === 'string') return readSecretFile(provider.path)
    if (provider.type === 'environment' && typeof provider.variable === 'string') {
      const secret = environment[provider.variable]
      if (secret === undefined) throw new Error(`the environment variable [${provider.variable}] is not set`)
      return secret
    }
    return refuse()
  },
)

function readSecretFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new Error(`cannot read the password file [${path}] (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** A JSON object that maps names to positive integers. */
export const countsByName = propertyType(
  'a JSON object that maps names to positive integers, such as {"compact":2}',
  (value): ReadonlyMap<string, number> => {
    const object = parseJson(value)
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return refuse()
    const counts = Object.entries(object).map(([name, count]): [string, number] =>
      Number.isInteger(count) && count >= 1 ? [name, count] : refuse(),
    )
    return new Map(counts)
  },
)
