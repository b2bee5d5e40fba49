import { Failure, forbidden } from '@svc/domain/failure'
import { defaultRulesName } from '@svc/domain/rules'
import { anyDatasource, type ClusterClient } from '../client/index.ts'
import {
  type DeclaredState,
  fieldAt,
  keyOf,
  type LiveState,
  type SectionKind,
  valueAt,
  whyUnseen,
} from '../declared-state/index.ts'
import { entryPath } from './paths.ts'
import { readVersioned } from './read-live-state.ts'

/** An entry that a list of a cluster does not contain. */
interface MissingEntry {
  readonly kind: SectionKind
  readonly path: readonly string[]
}

/**
 * Returns why entries are missing in the lists of a cluster, by the key of their path, if the user may not read them. A cluster of svc
 * lists rules and compaction only of the datasources that the user may read; Druid lists all.
 */
export async function hiddenEntries(
  client: ClusterClient,
  missing: readonly MissingEntry[],
): Promise<ReadonlyMap<string, string>> {
  const ofDatasources = missing.filter(isOfDatasource)
  // Users may usually read everything.
  return ofDatasources.length > 0 && (await mayBeHidden(client))
    ? await unreadableEntries(client, ofDatasources)
    : new Map()
}

const isOfDatasource = ({ kind, path }: MissingEntry): boolean =>
  kind === 'compactionDatasources' || (kind === 'rules' && path.at(-1) !== defaultRulesName)

async function unreadableEntries(
  client: ClusterClient,
  entries: readonly MissingEntry[],
): Promise<ReadonlyMap<string, string>> {
  const hidden = new Map<string, string>()
  for (const { kind, path } of entries) {
    const reason = await whyUnreadable(readVersioned(client, kind, path))
    if (reason !== undefined) hidden.set(keyOf(path), reason)
  }
  return hidden
}

/** Whether the lists of a cluster may leave out datasources. A user cannot see which datasources others may read. */
async function mayBeHidden(client: ClusterClient): Promise<boolean> {
  if (client.interfaceName === 'druid') return false
  const reading = client.send('GET', entryPath('rules', ['rules', anyDatasource]))
  return (await whyUnreadable(reading)) !== undefined
}

/**
 * Returns a configuration in which the declared entries that the user may not read are unseen, instead of missing, and which
 * names the sections that may be incomplete for this user.
 */
export async function withHiddenEntries(
  client: ClusterClient,
  live: LiveState,
  { sections }: Pick<DeclaredState, 'sections'>,
): Promise<LiveState> {
  const missing = [...sections].flatMap(([key, { kind, path, entries }]) => {
    const present = live.sections.get(key)?.entries
    return [...entries.keys()]
      .filter((name) => present?.has(name) === false)
      .map((name) => ({ kind, path: [...path, name] }))
  })
  const listed = [...live.sections].filter(
    ([key, { kind }]) =>
      (kind === 'rules' || kind === 'compactionDatasources') && (sections.size === 0 || sections.has(key)),
  )
  if (listed.length === 0 || !(await mayBeHidden(client))) return { ...live, incomplete: new Set() }
  return {
    ...live,
    unseen: new Map([...live.unseen, ...(await unreadableEntries(client, missing.filter(isOfDatasource)))]),
    incomplete: new Set(listed.map(([key]) => key)),
  }
}

/** Returns a notice if files with sections of a configuration would remove entries that the user may not read. */
export function incompleteNotice({ sections, incomplete = new Set() }: LiveState): string[] {
  const names = [...incomplete].map((key) => `[${fieldAt(sections.get(key)!.path)}]`)
  if (names.length === 0) return []
  return [
    `Entries of datasources that this user may not read are left out of ${names.join(' and ')}. If another user applies these files without --target, that removes the entries that were left out.`,
  ]
}

/** Throws forbidden, with all of them, if the user may not read some entries: without their values, a change looks as if it was made. */
export async function assertReadable(
  client: ClusterClient,
  live: LiveState,
  entries: readonly MissingEntry[],
): Promise<void> {
  const missing = entries.filter(({ path }) => valueAt(live, path) === undefined)
  const hidden = await hiddenEntries(client, missing)
  const denied = missing.filter(({ path }) => hidden.has(keyOf(path)) || whyUnseen(live, path) !== undefined)
  if (denied.length > 0)
    throw forbidden(
      `Nothing was changed: the user has no permission to read [${denied.map(({ path }) => fieldAt(path)).join('], [')}]`,
    )
}

/** Returns why the user may not read something; undefined if the user may. */
async function whyUnreadable(reading: Promise<unknown>): Promise<string | undefined> {
  try {
    await reading
    return undefined
  } catch (error) {
    if (error instanceof Failure && error.code === 'forbidden') return error.message
    throw error
  }
}
