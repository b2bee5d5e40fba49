import { invalidInput } from '../failure/index.ts'
import { ascending } from '../order/index.ts'
import { parseRules, type Rule } from '../rules/index.ts'
import { isJsonObject, readName, readRulesName } from '../validation/index.ts'
import { shorten } from './segment-row.ts'

/** A server that loads segments. */
export interface SnapshotServer {
  /** Host and port. */
  readonly host: string
  readonly tier: string
  readonly type: 'historical'
  readonly priority: number
  readonly maxSize: number
}

/** The files of the documents of a snapshot. */
export const snapshotFiles = {
  servers: 'servers.json',
  rules: 'rules.json',
  compaction: 'compaction.json',
  config: 'config.json',
  /** One segment per line. */
  segments: 'segments.jsonl',
  /** The segments as one list, as the API returns them. */
  segmentList: 'segments.json',
  /** One line for each server, with the segments that it serves. */
  placement: 'placement.jsonl',
} as const

/**
 * Calls a function that reads a part of a snapshot, and returns its value. If it throws a Failure, records the failure
 * with the given location, and returns undefined.
 */
export type Attempt = <Value>(where: string, read: () => Value) => Value | undefined

const readHost = readName()
const readTier = readName()

/** Returns the historicals in a list of servers, by tier and name. Throws invalidInput if it is not a list. */
export function readSnapshotServers(document: unknown, attempt: Attempt): SnapshotServer[] {
  if (!Array.isArray(document))
    throw invalidInput(`Invalid value [${shorten(document)}]: expected a list of servers`)
  const servers = new Map<string, SnapshotServer>()
  for (const [index, entry] of document.entries()) {
    attempt(`${snapshotFiles.servers} server [${index + 1}]`, () => {
      const { host, tier, type, priority = 0, maxSize } = readJsonObject(entry)
      // The list also contains brokers and others, which do not load segments.
      if (type !== 'historical') return
      if (!Number.isInteger(maxSize) || (maxSize as number) < 0)
        throw invalidInput(
          `Invalid value [${shorten(maxSize)}] for [maxSize]: expected a non-negative integer`,
        )
      if (!Number.isSafeInteger(priority))
        throw invalidInput(`Invalid value [${shorten(priority)}] for [priority]: expected an integer`)
      const server: SnapshotServer = {
        host: readHost(host, 'host'),
        tier: readTier(tier, 'tier'),
        type,
        priority: priority as number,
        // Unlimited servers often have the largest long integer.
        maxSize: Math.min(maxSize as number, Number.MAX_SAFE_INTEGER),
      }
      if (servers.has(server.host)) throw invalidInput(`Duplicate host [${server.host}]`)
      servers.set(server.host, server)
    })
  }
  return [...servers.values()].sort((a, b) => ascending(a.tier, b.tier) || ascending(a.host, b.host))
}

/** Returns the rules by datasource, sorted by name. Throws invalidInput if the document is not an object. */
export function readSnapshotRules(document: unknown, attempt: Attempt): Map<string, Rule[]> {
  const found = new Map<string, Rule[]>()
  for (const [name, list] of Object.entries(readJsonObject(document)).sort(([a], [b]) => ascending(a, b))) {
    attempt(snapshotFiles.rules, () =>
      found.set(readRulesName(name, 'datasource name'), parseRules(list, `[${shorten(name)}]`)),
    )
  }
  return found
}

/** Returns a JSON object. Throws invalidInput if the value is not one. */
export function readJsonObject(value: unknown): Record<string, unknown> {
  if (!isJsonObject(value)) throw invalidInput(`Invalid value [${shorten(value)}]: expected a JSON object`)
  return value
}
