import { useQueryClient } from '@tanstack/react-query'
import { type CompactionConfigJson, compactionConfigPath } from '../cluster/index.ts'
import { Drafts, useDraft } from '../drafts/index.ts'
import { inBytes, RequestFailure, send } from '../session/index.ts'
import { useWork } from '../ui/index.ts'
import { type Config, type ConfigDraft, sameConfig } from './config-draft.ts'

/** A stored change, which can be undone. */
interface Applied {
  readonly before: Config
  readonly after: Config
  readonly isUndone: boolean
}

// The last change of each datasource. It can be undone until the configuration changes again.
const lastChanges = new Drafts<Applied>()

/** The version of a configuration that is not stored. */
const noVersion = '"none"'

/** Returns the stored configuration of a datasource with its ETag. */
async function fetchConfig(dataSource: string): Promise<{ config: Config; version: string }> {
  try {
    const response = await send(compactionConfigPath(dataSource))
    const config = (await response.json()) as CompactionConfigJson
    return { config, version: response.headers.get('etag') ?? '*' }
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 404)
      return { config: undefined, version: noVersion }
    throw error
  }
}

/** Stores a change, unless the stored configuration is no longer the expected one. Returns whether it was stored. */
async function store(dataSource: string, { config, base, comment }: ConfigDraft): Promise<boolean> {
  // The browser would report a response without a configuration as an error.
  const stored =
    base === undefined ? { config: undefined, version: noVersion } : await fetchConfig(dataSource)
  if (!sameConfig(stored.config, base)) return false
  try {
    await send(compactionConfigPath(dataSource), {
      headers: { 'X-Svc-Comment': inBytes(comment), 'If-Match': stored.version },
      ...(config === undefined ? { method: 'DELETE' } : { method: 'POST', body: config }),
    })
    return true
  } catch (error) {
    if (error instanceof RequestFailure && error.status === 409) return false
    throw error
  }
}

/** Stores changes of the configuration of a datasource, unless another person has changed it, and undoes the last one. */
export function useConfigStore(dataSource: string, stored: Config) {
  const queries = useQueryClient()
  const [applied, setApplied] = useDraft(lastChanges, dataSource)
  const { problem, isBusy, run } = useWork()

  async function change(draft: ConfigDraft, isUndo: boolean): Promise<boolean> {
    const isStored = await store(dataSource, draft)
    // If it was not stored, the page now shows the change of the other person.
    await queries.invalidateQueries()
    if (!isStored) return false
    const { config: after } = await fetchConfigUnless(draft.config === undefined, dataSource)
    setApplied({ before: draft.base, after, isUndone: isUndo })
    return true
  }

  return {
    applied: applied && sameConfig(applied.after, stored) ? applied : undefined,
    problem,
    isBusy,
    apply: (draft: ConfigDraft, onStored: () => void) =>
      run(async () => {
        if (await change(draft, false)) onStored()
      }),
    undo: () =>
      run(async () => {
        if (!applied) return
        const { before: config, after: base } = applied
        if (!(await change({ config, base, comment: 'Undo in the console' }, true)))
          throw new Error('The configuration has changed again since then, so nothing was undone.')
      }),
  }
}

/** The result of the last changes of a configuration. */
export type ConfigStore = ReturnType<typeof useConfigStore>

const fetchConfigUnless = async (isDeleted: boolean, dataSource: string): Promise<{ config: Config }> =>
  isDeleted ? { config: undefined } : await fetchConfig(dataSource)
