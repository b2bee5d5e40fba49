import { allChecks } from './checks/index.ts'
import type { Configuration } from './configuration.ts'
import { type Finding, findProblems } from './findings.ts'
import { type LocationMap, readLocationMap } from './location-map.ts'
import { openStores } from './open-stores.ts'
import { probeDirectories, readFilterProblems } from './probe-ldap.ts'
import { probeServers } from './probe-servers.ts'
import { readConfiguration } from './read-configuration.ts'

/** What to examine. */
export interface ExamineOptions {
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** `from=to` entries for paths and addresses. */
  readonly maps: readonly string[]
  /** Whether to leave out everything that needs the network. */
  readonly isOffline: boolean
  /** Epoch milliseconds. */
  readonly now: number
}

/** What is wrong with a configuration. */
export interface Examination {
  readonly configuration: Configuration
  readonly locations: LocationMap
  readonly findings: readonly Finding[]
}

/** Examines the configuration folder of a Druid cluster. Only reads. Throws a Failure if it is not such a folder. */
export async function examine(options: ExamineOptions): Promise<Examination> {
  const { folder, environment, maps, isOffline, now } = options
  const locations = readLocationMap(maps, folder)
  const configuration = readConfiguration({ folder, environment, locations })
  const storeOf = await openStores(configuration, locations)
  const filterProblem = await readFilterProblems(configuration)
  const directoryOf = isOffline
    ? () => undefined
    : await probeDirectories(configuration, locations, { storeOf, filterProblem })
  const tlsOf = isOffline ? () => undefined : await probeServers(configuration, locations, storeOf)
  const facts = { storeOf, filterProblem, directoryOf, tlsOf }
  return { configuration, locations, findings: findProblems(allChecks, { configuration, facts, now }) }
}
