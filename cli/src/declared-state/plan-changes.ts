import { readAnyObject, readList, readText, refuse } from '@svc/domain/validation'
import { type Change, isNothing } from './changes.ts'
import { definitionOf, readLogin, type SectionKind } from './sections.ts'
import { fieldAt } from './state.ts'

type ReadValue = (value: unknown, field: string) => unknown

const readNames = readList(readText)
const readItems = readList((json) => json, { max: 1_000_000 })

function readMapping(value: unknown, field: string): void {
  const { groupPattern, roles = [] } = readAnyObject(value, field)
  readText(groupPattern, `${field}.groupPattern`)
  readNames(roles, `${field}.roles`)
}

/** Names with another meaning in the path of a URL. */
const reservedNames: ReadonlySet<string> = new Set(['', '.', '..'])

/** Whether a name can be a part of the path of a URL: not if it has another meaning there, or an unpaired surrogate. */
export const isNameInUrl = (name: string): boolean => !reservedNames.has(name) && name.isWellFormed()

const anyValue = (): void => undefined

/** Read the values of entries. Only their form is checked, because clusters may have values that svc cannot read. */
const readersOfValues: Readonly<Record<SectionKind, ReadValue>> = {
  rules: readItems,
  compactionCluster: anyValue,
  compactionDatasources: readAnyObject,
  coordinator: anyValue,
  roles: readItems,
  users: readNames,
  groupMappings: readMapping,
  logins: readAnyObject,
}

/**
 * Throws invalidInput for a change that no plan of svc contains: one whose path is that of a different kind, or one that would fail
 * after other changes were applied.
 */
export function assertPossibleChange({ kind, path, action, before, after }: Change, field: string): void {
  const { path: section, isPartial } = definitionOf(kind)
  const pattern = [...section, '*']
  const isFit = (key: string, name = ''): boolean => (key === '*' ? isNameInUrl(name) : key === name)
  if (path.length !== pattern.length || !pattern.every((key, index) => isFit(key, path[index])))
    throw refuse(`${field}.path`, fieldAt(path), `a path such as [${fieldAt(pattern)}] for [${kind}]`)
  if (before !== undefined) readersOfValues[kind](before, `${field}.before`)
  if (after === undefined && isPartial) throw refuse(`${field}.after`, after, 'a value')
  if (after !== undefined) (kind === 'logins' ? readLogin : readersOfValues[kind])(after, `${field}.after`)
  const removes = isNothing(kind, after)
  if (removes !== (action === 'remove'))
    throw refuse(`${field}.action`, action, removes ? '[remove]' : '[add] or [change]')
}
