import { readFileSync, writeFileSync } from 'node:fs'
import { describeError, notFound } from '@svc/domain/failure'
import type { HomeLayout } from '../home/index.ts'
import { countOf, formatBytes } from '../terminal/index.ts'

/** What an import read, how the home differs from its source, and what was not read. */
export interface ImportReport {
  readonly format: 1
  readonly source: string
  /** When the source was read. */
  readonly readAt: string
  /** Signs that the login saw only a part of the cluster. */
  readonly partialView: readonly string[]
  readonly read: ImportedCounts
  readonly differences: readonly ImportDifference[]
  /** The first unreadable parts that were left out. Reports of earlier versions do not list them. */
  readonly leftOut?: readonly string[]
  readonly unseen: readonly UnseenPart[]
}

/** Counts of what was read. Parts that were not read are null. */
export interface ImportedCounts {
  readonly segments: number
  readonly overshadowedSegments: number | null
  readonly unusedSegments: number | null
  readonly sizeBytes: number
  readonly datasources: number
  readonly servers: number
  readonly tiers: readonly string[]
  readonly replicas: number | null
  readonly ruleLists: number
  readonly compactionConfigs: number
  readonly suspendedSupervisors: number | null
  readonly users: number | null
  readonly roles: number | null
  readonly groupMappings: number | null
}

/** One difference between the home and its source. */
export interface ImportDifference {
  readonly part: string
  readonly difference: string
  readonly reason: string
}

/** A part of the source that was not read. */
export interface UnseenPart {
  readonly part: string
  readonly reason: string
}

/** Stores the report in its home. */
export function writeImportReport(home: HomeLayout, report: ImportReport): void {
  writeFileSync(home.importReport, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 })
}

/** The report of a home. Throws notFound if the home was not imported. */
export function readImportReport(home: HomeLayout): ImportReport {
  try {
    return JSON.parse(readFileSync(home.importReport, 'utf8')) as ImportReport
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw notFound(
      isMissing
        ? `Home [${home.root}] has no import report, because ./svc import did not create this home`
        : `Failed to read the import report of [${home.root}]: ${describeError(error)}`,
    )
  }
}

/** Returns the report as lines of text. */
export function formatImportReport(report: ImportReport): string[] {
  const { source, readAt, partialView, differences, leftOut = [], unseen } = report
  return [
    `Fidelity report for the import from [${source}] at ${readAt}`,
    '',
    ...(partialView.length === 0
      ? []
      : ['This login sees only part of the cluster:', ...partialView.map((sign) => `  ${sign}`), '']),
    'Read:',
    ...readLines(report.read).map((line) => `  ${line}`),
    '',
    'Different from the source:',
    ...differences.map(({ part, difference, reason }) => `  ${part}: ${difference} (${reason})`),
    '',
    ...(leftOut.length === 0
      ? []
      : ['Left out because unreadable:', ...leftOut.map((line) => `  ${line}`), '']),
    'Not read:',
    ...unseen.map(({ part, reason }) => `  ${part}: ${reason}`),
  ]
}

function readLines(read: ImportedCounts): string[] {
  const { segments, overshadowedSegments, unusedSegments, sizeBytes, datasources } = read
  const known = (count: number | null, thing: string): string[] =>
    count === null ? [] : [countOf(count, thing)]
  return [
    `${countOf(segments, 'used segment')} (${formatBytes(sizeBytes)}) in ${countOf(datasources, 'datasource')}${overshadowedSegments === null ? '' : `, ${overshadowedSegments} overshadowed`}`,
    ...known(unusedSegments, 'unused segment'),
    `${countOf(read.servers, 'server')} in [${read.tiers.join('], [')}]${read.replicas === null ? '' : ` with ${countOf(read.replicas, 'replica')}`}`,
    countOf(read.ruleLists, 'rule list'),
    `${countOf(read.compactionConfigs, 'compaction configuration')}${read.suspendedSupervisors ? `, ${read.suspendedSupervisors} suspended` : ''}`,
    ...(read.users === null
      ? []
      : [
          [
            countOf(read.users, 'user'),
            countOf(read.roles ?? 0, 'role'),
            countOf(read.groupMappings ?? 0, 'group mapping'),
          ].join(', '),
        ]),
  ]
}
