import { canonicalJson } from '../json/index.ts'
import type { AnsweredEffects } from '../preview/index.ts'
import { maxAuditTextLength } from '../validation/index.ts'

/** A difference between the declared configuration and that of a cluster. */
export interface PlannedChange<Kind extends string = string> {
  readonly kind: Kind
  /** The path of the section and the name of the entry. */
  readonly path: readonly string[]
  readonly action: 'add' | 'change' | 'remove'
  /** The value in the cluster; undefined if it has none. */
  readonly before?: unknown
  /** The declared value; undefined if the entry is removed. */
  readonly after?: unknown
}

/** Segments that a datasource loses. */
export interface Loss {
  /** Segments that are queryable now and no longer afterward. */
  readonly unqueryable: number
  /** The size of all segments that are not queryable afterward, including those that no server has loaded yet. */
  readonly unqueryableBytes: number
  readonly unused: number
  readonly unusedBytes: number
}

/** Returns what a datasource loses, from the effects in a preview. */
export const lossOf = ({ unqueryable, unused }: AnsweredEffects): Loss => ({
  unqueryable: unqueryable.queryableBefore,
  unqueryableBytes: unqueryable.bytes,
  unused: unused.segments,
  unusedBytes: unused.bytes,
})

/** Whether a datasource loses segments. */
export const losesSegments = ({ unqueryable, unused }: Loss): boolean => unqueryable + unused > 0

/** What a plan changes, in which cluster, and what it was computed from. */
export interface PlanContents<Kind extends string = string> {
  /** The URL of its router. */
  readonly cluster: string
  /** The ID of the cluster; undefined if it has none, as in Druid and in earlier versions. */
  readonly clusterId?: string | undefined
  /** ISO 8601. */
  readonly createdAt: string
  /** The author and the comment for the audit history; undefined if those who apply the plan choose them. */
  readonly author?: string | undefined
  readonly comment?: string | undefined
  readonly changes: readonly PlannedChange<Kind>[]
  /** By datasource. */
  readonly losses: Readonly<Record<string, Loss>>
  /**
   * The IDs of the segments that the rules mark as unused, by datasource, so that this can be undone. Only for Druid, which does
   * not record why segments are unused.
   */
  readonly unusedSegments?: Readonly<Record<string, readonly string[]>> | undefined
  /** The parts to which the plan is limited, such as `rules.wikipedia`; undefined if it is not. */
  readonly parts?: readonly string[] | undefined
  /** The digest of each entry of the cluster when the plan was made, by the key of its path. Entries of other parts have none. */
  readonly read: Readonly<Record<string, string>>
}

/** A plan that can be saved. */
export interface PlanFile<Kind extends string = string> extends PlanContents<Kind> {
  readonly version: 1
  /** Depends on all contents. */
  readonly id: string
}

/** Returns a text that is different for each path. */
export const keyOf = (path: readonly string[]): string => JSON.stringify(path)

/** Returns a digest of a value. `sha256` returns the SHA-256 of a text as lowercase hexadecimal digits. */
export const digestOf = (value: unknown, sha256: (text: string) => string): string =>
  shortDigest(sha256(canonicalJson(value)))

/** The number of characters of the ID of a plan. */
export const planIdLength = 16

/** What is added to the comment of each change of a plan. */
export const commentOf = (planId: string): string => `(plan ${planId})`

/** Maximum length of the author and the comment in a plan: the audit history also has room for what is added. */
export const maxPlanTextLength = maxAuditTextLength - commentOf('').length - planIdLength - 1

/** Returns the part of a SHA-256 that plans contain. */
export const shortDigest = (sha256: string): string => sha256.slice(0, planIdLength)

/** Returns the text of a file. */
export const planText = (plan: PlanFile): string => `${JSON.stringify(plan, null, 1)}\n`
