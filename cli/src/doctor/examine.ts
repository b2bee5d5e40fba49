import { allChecks } from './checks/index.ts'
import type { Configuration } from './configuration.ts'
import type { Examination } from './examination.ts'
import { type Finding, findProblems } from './findings.ts'
import { readLocationMap } from './location-map.ts'
import { openStores } from './open-stores.ts'
import { probeDirectories, readFilterProblems } from './probe-ldap.ts'
import { probeServers } from './probe-servers.ts'
import { readConfiguration } from './read-configuration.ts'
import { redactionOf } from './redact.ts'
import { serversOfRoles } from './servers-of-roles.ts'
import { usesStores } from './svc-settings.ts'
import { noSuchServer, ownCertificates, sameEffect } from './up-effects.ts'

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
  const findings = findProblems(allChecks, { configuration, facts, now })
  const redact = redactionOf(configuration)
  const shown = inCluster(configuration, findings).map((finding) => ({
    ...finding,
    problem: redact(finding.problem),
    effect: redact(finding.effect),
    fix: redact(finding.fix),
  }))
  return { configuration, locations, findings: shown }
}

/** Adapts what `./svc up --config` does to the servers and stores that its cluster has. */
function inCluster(configuration: Configuration, findings: readonly Finding[]): Finding[] {
  const servers = new Set(Object.values(serversOfRoles(configuration)).map(({ name }) => name))
  const hasStores = usesStores(findings)
  return findings.map((finding) => {
    const isKnown =
      finding.file === configuration.commonFile || finding.servers.some((name) => servers.has(name))
    if (!isKnown) return { ...finding, up: noSuchServer }
    return finding.up === ownCertificates && hasStores ? { ...finding, up: sameEffect } : finding
  })
}
