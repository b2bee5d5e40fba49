import { parseCompactionConfig } from '@svc/domain/compaction'
import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import { type FormEvent, useDeferredValue, useMemo } from 'react'
import {
  type CompactionConfigJson,
  useCaller,
  useCompactionConfigs,
  useCompactionPreview,
  useLastConfigChange,
} from '../cluster/index.ts'
import { ChangedByOther, Discarded, Name, Notice, Outcome, Problem } from '../ui/index.ts'
import { type Config, type ConfigDraft, changedFields, sameConfig } from './config-draft.ts'
import { ConfigForm } from './config-form.tsx'
import { type ConfigEdit, useConfigEdit } from './use-config-edit.ts'
import { type ConfigStore, useConfigStore } from './use-config-store.ts'

/** The compaction configuration of a datasource: form, preview, and the buttons to apply or undo. */
export function ConfigPanel({ dataSource }: { readonly dataSource: string }) {
  const configs = useCompactionConfigs()
  if (configs.error && !configs.data) return <Problem>{configs.error.message}</Problem>
  if (!configs.data) return <p className="dim">Loading…</p>
  return <Loaded dataSource={dataSource} configs={configs.data} />
}

interface LoadedInput {
  readonly dataSource: string
  readonly configs: readonly CompactionConfigJson[]
}

function Loaded({ dataSource, configs }: LoadedInput) {
  const { data: caller } = useCaller(dataSource)
  const stored = configs.find((one) => one.dataSource === dataSource)
  const edit = useConfigEdit(dataSource, stored)
  const store = useConfigStore(dataSource, stored)
  const { draft, config } = edit
  const canWrite = caller?.datasource?.write === true
  return (
    <>
      {!canWrite && <p className="hint">Changing the configuration requires WRITE on the datasource.</p>}
      {config !== undefined && (
        <ConfigForm
          config={config}
          isReadOnly={!canWrite}
          onChange={(changed) => edit.change({ config: changed })}
        />
      )}
      {config === undefined && draft === undefined && (
        <>
          <p>This datasource is not compacted automatically.</p>
          {canWrite && (
            <button type="button" className="primary" onClick={() => edit.change({ config: { dataSource } })}>
              Configure compaction
            </button>
          )}
        </>
      )}
      {draft && <Effect configs={configs} dataSource={dataSource} config={draft.config} />}
      {draft && <Review dataSource={dataSource} stored={stored} draft={draft} edit={edit} store={store} />}
      {!draft && stored && canWrite && (
        <div className="row">
          <button type="button" onClick={() => edit.change({ config: undefined })}>
            Stop compaction…
          </button>
        </div>
      )}
      {store.problem && <Problem>{store.problem}</Problem>}
      {!draft && <LastChange edit={edit} store={store} />}
    </>
  )
}

/** What was applied or discarded last, with a button that takes it back. */
function LastChange({
  edit,
  store: { applied, isBusy, undo },
}: {
  readonly edit: ConfigEdit
  readonly store: ConfigStore
}) {
  return (
    <>
      {applied && (
        <Outcome isBusy={isBusy} onUndo={applied.isUndone ? undefined : () => void undo()}>
          {applied.isUndone ? 'Undone.' : applied.after === undefined ? 'Stopped compaction.' : 'Applied.'}
        </Outcome>
      )}
      {edit.restore && <Discarded onRestore={edit.restore} />}
    </>
  )
}

interface ReviewInput {
  readonly dataSource: string
  readonly stored: Config
  readonly draft: ConfigDraft
  readonly edit: ConfigEdit
  readonly store: ConfigStore
}

function Review({ dataSource, stored, draft, edit, store }: ReviewInput) {
  const isStop = draft.config === undefined
  const isChangedByOther = !sameConfig(draft.base, stored)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void store.apply(draft, edit.clear)
  }
  return (
    <form className="review" onSubmit={submit}>
      {isStop && (
        <Notice kind="future" role="status">
          <p>
            <b>
              <Name>{dataSource}</Name> will no longer be compacted automatically.
            </b>{' '}
            Its configuration is deleted. Segments stay as they are, and running tasks continue.
          </p>
        </Notice>
      )}
      {isChangedByOther && <OtherChange dataSource={dataSource} stored={stored} draft={draft} edit={edit} />}
      <label>
        <span>
          Comment <span className="dim">(for the history)</span>
        </span>
        <input value={draft.comment} onChange={(event) => edit.change({ comment: event.target.value })} />
      </label>
      {isChangedByOther && (
        <p className="hint">To apply the edit, first decide whether to keep or discard it.</p>
      )}
      <div className="row">
        <button
          type="submit"
          className={isStop ? 'danger' : 'primary'}
          disabled={store.isBusy || isChangedByOther}
        >
          {isStop ? 'Stop compaction' : 'Apply'}
        </button>
        {!isChangedByOther && (
          <button type="button" onClick={edit.discard}>
            Discard
          </button>
        )}
      </div>
    </form>
  )
}

/** What another person changed while this edit was open. */
function OtherChange({ dataSource, stored, draft, edit }: Omit<ReviewInput, 'store'>) {
  const { data: last } = useLastConfigChange(dataSource)
  return (
    <ChangedByOther what="this configuration" last={last} onKeep={edit.rebase} onDiscard={edit.discard}>
      <ul className="small differences">
        {changedFields(draft.base, stored).map(({ field, before, after }) => (
          <li key={field}>
            <Name>{`${field}: ${before ?? 'not set'} → ${after ?? 'not set'}`}</Name>
          </li>
        ))}
      </ul>
    </ChangedByOther>
  )
}

const states = [
  ['awaiting', 'Awaits compaction'],
  ['compacted', 'Compacted'],
  ['skipped', 'Skipped'],
] as const

/**
 * Returns what is wrong with a configuration; undefined if it is valid. Checked here because browsers log every rejected request
 * as an error.
 */
function problemIn(config: Config): string | undefined {
  try {
    if (config !== undefined) parseCompactionConfig(config)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** What a changed configuration would compact, compared with the stored one. */
function Effect({ configs, dataSource, config }: LoadedInput & { readonly config: Config }) {
  const { data: caller } = useCaller()
  const shown = useDeferredValue(config)
  const others = configs.filter((one) => one.dataSource !== dataSource)
  const invalid = useMemo(() => problemIn(shown), [shown])
  const before = useCompactionPreview({}, config !== undefined)
  const after = useCompactionPreview(
    { compactionConfigs: [...others, ...(shown === undefined ? [] : [shown])] },
    config !== undefined && invalid === undefined,
  )
  if (config === undefined) return null
  if (caller?.config.write === false)
    return <p className="hint">Compaction previews require WRITE on CONFIG.</p>
  const problem = invalid ?? after.error?.message
  if (problem !== undefined) return <Problem>{problem}</Problem>
  const [was, becomes] = [before.data?.stats[dataSource], after.data?.stats[dataSource]]
  if (!becomes) return null
  return (
    <section aria-labelledby="effect-title">
      <h2 id="effect-title">After this edit</h2>
      <table>
        <tbody>
          {states.map(([state, label]) => (
            <tr key={state}>
              <th scope="row">{label}</th>
              <td className="right">
                {countOf(becomes[state].segments, 'segment')}, {formatBytes(becomes[state].bytes)}
                {was && was[state].segments !== becomes[state].segments && (
                  <span className="was">was {formatCount(was[state].segments)}</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
