import type { CompactionConfigJson } from '../cluster/index.ts'

/** The compaction configuration of a datasource; undefined if it is not compacted. */
export type Config = CompactionConfigJson | undefined

/** An edit of a compaction configuration. */
export interface ConfigDraft {
  readonly config: Config
  /** The stored configuration that the edit started from. */
  readonly base: Config
  readonly comment: string
}

/** The edit of a compaction configuration, and the last one that was discarded. */
export interface ConfigDraftState {
  readonly draft: ConfigDraft | undefined
  readonly discarded: ConfigDraft | undefined
}

/** Whether two configurations are the same. */
export const sameConfig = (a: Config, b: Config): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Returns the edit that would be lost; undefined if there is none. */
export const unsavedConfig = ({ draft }: ConfigDraftState): ConfigDraft | undefined =>
  draft !== undefined && !sameConfig(draft.config, draft.base) ? draft : undefined

/** A field with different values in two configurations, as JSON; undefined if it is missing. */
export interface FieldChange {
  readonly field: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Returns the fields in which two configurations differ, in the order of their names. */
export function changedFields(before: Config, after: Config): FieldChange[] {
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].sort()
  const textOf = (config: Config, field: string): string | undefined => {
    const value = config?.[field] ?? undefined
    return value === undefined ? undefined : JSON.stringify(value)
  }
  return fields
    .map((field) => ({ field, before: textOf(before, field), after: textOf(after, field) }))
    .filter((one) => one.before !== one.after)
}
