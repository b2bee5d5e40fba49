/**
 * What belongs to a snapshot beside its segments, each a JSON document as the interface answers it: where it is asked
 * for after the `svc` or `druid` of its path, and the file that holds it in a folder.
 */
export const documents = {
  servers: { path: '/coordinator/v1/servers?simple', file: 'servers.json', needed: true },
  rules: { path: '/coordinator/v1/rules', file: 'rules.json', needed: true },
  compaction: { path: '/coordinator/v1/config/compaction', file: 'compaction.json', needed: false },
  config: { path: '/coordinator/v1/config', file: 'config.json', needed: false },
} as const

export type DocumentName = keyof typeof documents

/** One segment as it was read, with where it stands; `problem` where it is no JSON. */
export interface SegmentRow {
  /** From 1: the line of the file, or the number of the element in the list. */
  readonly row: number
  readonly value?: unknown
  readonly problem?: string
}

/** A cluster, or files saved from one, that can be read. */
export interface SnapshotSource {
  /** How the source is told to people. */
  readonly name: string
  /**
   * Looks, before anything is read, whether the source is as it was written. Returns what people should know where that
   * cannot be told; throws a Failure where it is not.
   */
  check(): Promise<readonly string[]>
  /** The document, or undefined where the source has none and does not need it. Throws a Failure that names the source. */
  document(name: DocumentName): Promise<unknown>
  /** The used segments, read as they are taken. Throws a Failure where the source breaks off. */
  segments(): AsyncIterable<SegmentRow>
}
