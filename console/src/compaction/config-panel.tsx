import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useDeferredValue, useState } from 'react'
import {
  type CompactionConfigJson,
  compactionConfigPath,
  useCaller,
  useCompactionConfigs,
  useCompactionPreview,
} from '../cluster/index.ts'
import { inBytes, send } from '../session/index.ts'
import { Notice, Problem } from '../ui/index.ts'
import { ConfigForm } from './config-form.tsx'

/** A stored change, which can be undone. */
interface Applied {
  readonly before: CompactionConfigJson | undefined
  readonly text: string
}

/** The compaction configuration of a datasource: form, preview, and the buttons to apply or undo. */
export function ConfigPanel({ dataSource }: { readonly dataSource: string }) {
  const configs = useCompactionConfigs()
  const { data: caller } = useCaller(dataSource)
  const [draft, setDraft] = useState<CompactionConfigJson>()
  const stored = configs.data?.find((one) => one.dataSource === dataSource)
  const store = useStore(dataSource, stored, () => setDraft(undefined))
  if (configs.error && !configs.data) return <Problem>{configs.error.message}</Problem>
  if (!configs.data) return <p className="dim">Loading</p>
  const config = draft ?? stored
  const isEdited = draft !== undefined && JSON.stringify(draft) !== JSON.stringify(stored)
  const canWrite = caller?.datasource?.write === true
  return (
    <>
      {!canWrite && <p className="hint">Changing the configuration requires WRITE on the datasource.</p>}
      {config === undefined ? (
        <>
          <p>This datasource is not compacted automatically.</p>
          {canWrite && (
            <button type="button" className="primary" onClick={() => setDraft({ dataSource })}>
              Configure compaction
            </button>
          )}
        </>
      ) : (
        <ConfigForm config={config} isReadOnly={!canWrite} onChange={setDraft} />
      )}
      {isEdited && <Effect configs={configs.data} draft={draft} />}
      {isEdited && <Review store={store} draft={draft} onDiscard={() => setDraft(undefined)} />}
      {!isEdited && stored && canWrite && (
        <div className="row">
          <button type="button" disabled={store.isBusy} onClick={() => void store.save(undefined, '')}>
            Stop compaction
          </button>
        </div>
      )}
      {store.problem && <Problem>{store.problem}</Problem>}
      {store.applied && !isEdited && (
        <Notice kind="done" role="status">
          <span className="row between">
            {store.applied.text}
            <button type="button" onClick={() => void store.undo()}>
              Undo
            </button>
          </span>
        </Notice>
      )}
    </>
  )
}

/** Stores and undoes changes of the configuration of a datasource. */
function useStore(dataSource: string, stored: CompactionConfigJson | undefined, onStored: () => void) {
  const queries = useQueryClient()
  const [applied, setApplied] = useState<Applied>()
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  const save = async (config: CompactionConfigJson | undefined, comment: string, isUndo = false) => {
    setIsBusy(true)
    setProblem(undefined)
    try {
      await send(compactionConfigPath(dataSource), {
        headers: { 'X-Svc-Comment': inBytes(comment) },
        ...(config === undefined ? { method: 'DELETE' } : { method: 'POST', body: config }),
      })
      await queries.invalidateQueries()
      onStored()
      const text = config === undefined ? 'Stopped compaction.' : 'Applied.'
      setApplied(isUndo ? undefined : { before: stored, text })
    } catch (error) {
      setProblem((error as Error).message)
    }
    setIsBusy(false)
  }
  return {
    applied,
    problem,
    isBusy,
    save,
    undo: () => (applied ? save(applied.before, 'Undo in the console', true) : undefined),
  }
}

function Review({
  store,
  draft,
  onDiscard,
}: {
  readonly store: ReturnType<typeof useStore>
  readonly draft: CompactionConfigJson
  onDiscard(): void
}) {
  const [comment, setComment] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void store.save(draft, comment)
  }
  return (
    <form className="review" onSubmit={submit}>
      <label>
        <span>
          Comment <span className="dim">(kept in the history)</span>
        </span>
        <input value={comment} onChange={(event) => setComment(event.target.value)} />
      </label>
      <div className="row">
        <button type="submit" className="primary" disabled={store.isBusy}>
          Apply
        </button>
        <button type="button" onClick={onDiscard}>
          Discard
        </button>
      </div>
    </form>
  )
}

const states = [
  ['awaiting', 'Awaits compaction'],
  ['compacted', 'Compacted'],
  ['skipped', 'Skipped'],
] as const

/** What a changed configuration would compact, compared with the stored one. */
function Effect({
  configs,
  draft,
}: {
  readonly configs: readonly CompactionConfigJson[]
  readonly draft: CompactionConfigJson
}) {
  const { data: caller } = useCaller()
  const shown = useDeferredValue(draft)
  const others = configs.filter(({ dataSource }) => dataSource !== shown.dataSource)
  const before = useCompactionPreview({})
  const after = useCompactionPreview({ compactionConfigs: [...others, shown] })
  if (caller?.config.write === false)
    return <p className="hint">Compaction previews require WRITE on CONFIG.</p>
  if (after.error) return <Problem>{after.error.message}</Problem>
  const [was, becomes] = [before.data?.stats[shown.dataSource], after.data?.stats[shown.dataSource]]
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
