import { Drafts, useDraft } from '../drafts/index.ts'
import { compactionAddress } from '../location.ts'
import { type Config, type ConfigDraft, type ConfigDraftState, unsavedConfig } from './config-draft.ts'

const drafts = new Drafts<ConfigDraftState>({
  isUnsaved: (state) => unsavedConfig(state) !== undefined,
  describe: (name) => ({ label: `compaction of ${name}`, href: compactionAddress(name) }),
})

const noDraft: ConfigDraftState = { draft: undefined, discarded: undefined }

/** The edit of the compaction configuration of a datasource, whose stored configuration is given. It outlives the screen. */
export function useConfigEdit(dataSource: string, stored: Config) {
  const [state = noDraft, setState] = useDraft(drafts, dataSource)
  const draft = unsavedConfig(state)
  const change = (changed: Partial<ConfigDraft>) =>
    setState({
      ...state,
      draft: { config: stored, base: stored, comment: '', ...(draft ?? {}), ...changed },
    })
  return {
    /** Undefined if nothing is edited. */
    draft,
    /** What will be stored. */
    config: draft === undefined ? stored : draft.config,
    change,
    /** Keeps the edit, but compares it with the configuration that is stored now. */
    rebase: () => change({ base: stored }),
    discard: () => setState({ draft: undefined, discarded: draft }),
    /** Continues the edit that was discarded; undefined if there is none. */
    restore:
      state.discarded === undefined
        ? undefined
        : () => setState({ draft: state.discarded, discarded: undefined }),
    clear: () => setState(undefined),
  }
}

/** An edit of the compaction configuration of a datasource. */
export type ConfigEdit = ReturnType<typeof useConfigEdit>
