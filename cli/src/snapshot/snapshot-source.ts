import { snapshotFiles } from '@svc/domain/snapshot'

/**
 * The parts of a snapshot in addition to its segments. Each is a JSON document as returned by the API: its path after
 * `/svc` or `/druid`, and its file in a folder.
 */
export const documents = {
  servers: { path: '/coordinator/v1/servers?simple', file: snapshotFiles.servers, needed: true },
  rules: { path: '/coordinator/v1/rules', file: snapshotFiles.rules, needed: true },
  compaction: { path: '/coordinator/v1/config/compaction', file: snapshotFiles.compaction, needed: false },
  config: { path: '/coordinator/v1/config', file: snapshotFiles.config, needed: false },
} as const

export type DocumentName = keyof typeof documents

/** Parts that not every source has and not every user may read, and their files in a folder. */
export const restrictedPartFiles = {
  counts: 'counts.json',
  supervisors: 'supervisors.json',
  security: 'security.json',
} as const

export type RestrictedPartName = keyof typeof restrictedPartFiles

/** The file of a snapshot that lists which server has loaded which segments. */
export const placementFile = snapshotFiles.placement
/** The file of a snapshot with its unused segments, one per line. */
export const unusedSegmentsFile = 'unused-segments.jsonl'

/** A part of a source, or why it could not be read. */
export type Seen<Value> = { readonly value: Value } | { readonly unseen: string }

/** Some of the segments that one server has loaded. */
export interface ServedSegments {
  readonly server: string
  readonly segments: readonly string[]
}

/** One unparsed segment and its position; `problem` if it is not JSON. */
export interface SegmentRow {
  /** From 1: the line of the file, or the number of the element in the list. */
  readonly row: number
  readonly value?: unknown
  readonly problem?: string
}

/** A readable cluster, or files exported from one. */
export interface SnapshotSource {
  /** The name of the source in messages. */
  readonly name: string
  /**
   * Checks, before anything is read, whether the source is intact. Returns a notice if that cannot be checked. Throws a
   * Failure if the source has changed.
   */
  check(): Promise<readonly string[]>
  /** The document; undefined if it is optional and missing. Throws a Failure that names the source. */
  document(name: DocumentName): Promise<unknown>
  /** The used segments, read lazily. Throws a Failure if the source ends early. */
  segments(): AsyncIterable<SegmentRow>
  restrictedPart(name: RestrictedPartName): Promise<Seen<unknown>>
  /** Which segments the servers have loaded, read lazily. */
  placement(servers: readonly string[]): Promise<Seen<AsyncIterable<ServedSegments>>>
  /** The unused segments, read lazily: `{ dataSegment, usedStatusLastUpdatedDate }`. */
  unusedSegments(): Promise<Seen<AsyncIterable<SegmentRow>>>
}
