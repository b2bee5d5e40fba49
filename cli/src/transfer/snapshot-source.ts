/**
 * The parts of a snapshot in addition to its segments. Each is a JSON document as returned by the API: its path after
 * `/svc` or `/druid`, and its file in a folder.
 */
export const documents = {
  servers: { path: '/coordinator/v1/servers?simple', file: 'servers.json', needed: true },
  rules: { path: '/coordinator/v1/rules', file: 'rules.json', needed: true },
  compaction: { path: '/coordinator/v1/config/compaction', file: 'compaction.json', needed: false },
  config: { path: '/coordinator/v1/config', file: 'config.json', needed: false },
} as const

export type DocumentName = keyof typeof documents

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
}
