import { keyOf } from '@svc/domain/saved-plan'
import type { SectionKind } from './sections.ts'

/** A part of a configuration whose entries have names: such as the rules by datasource, or the roles of an authorizer. */
export interface Section {
  readonly kind: SectionKind
  /** The keys that lead to it in a file, such as `['authorizers', 'basic', 'roles']`. */
  readonly path: readonly string[]
  /** Values as JSON, by name: of a datasource, field, role, or user. */
  readonly entries: ReadonlyMap<string, unknown>
}

export { keyOf }

/** A configuration, by `keyOf` the path of each section. A section that is missing is not part of it. */
export type State = ReadonlyMap<string, Section>

/** A configuration that was read from a cluster. */
export interface LiveState {
  readonly sections: State
  /** Why sections could not be read, by the key of their path, or of the beginning of it. */
  readonly unseen: ReadonlyMap<string, string>
  /** Sections without the entries of datasources that the user may not read, by the key of their path; undefined if unknown. */
  readonly incomplete?: ReadonlySet<string>
}

/** Returns the path of an entry as messages show it. */
export const fieldAt = (path: readonly string[]): string => path.join('.')

/** Whether a path is in a part such as `rules.wikipedia`. Names may contain dots: `rules.wikipedia.en` is not in this part. */
export const isInPart = (part: string, at: readonly string[]): boolean =>
  at.some((_, index) => fieldAt(at.slice(0, index + 1)) === part)

/** Returns the value of an entry; undefined if there is none. */
export const valueAt = ({ sections }: Pick<LiveState, 'sections'>, path: readonly string[]): unknown =>
  sections.get(keyOf(path.slice(0, -1)))?.entries.get(path.at(-1)!)

/** Returns why a section could not be read; undefined if it could. */
export function whyUnseen({ unseen }: LiveState, path: readonly string[]): string | undefined {
  for (let length = path.length; length > 0; length--) {
    const reason = unseen.get(keyOf(path.slice(0, length)))
    if (reason !== undefined) return reason
  }
  return undefined
}
