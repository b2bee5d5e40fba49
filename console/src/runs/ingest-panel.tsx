import {
  type FileIngestion,
  fileTask,
  type InputSample,
  maxInlineDataBytes,
  sampleInput,
} from '@svc/domain/ingestion'
import { formatBytes } from '@svc/domain/text'
import { useQueryClient } from '@tanstack/react-query'
import { type DragEvent, type FormEvent, useState } from 'react'
import { useCaller, useInventory } from '../cluster/index.ts'
import { fetchJson } from '../session/index.ts'
import { Name, Problem, useWork, visible } from '../ui/index.ts'

/** A file that the user chose, and what its first rows show. */
interface ChosenFile {
  readonly file: File
  readonly sample: InputSample
}

const maxSampleBytes = 65_536
const segmentGranularities = ['HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR'] as const

/** Ingests a file that the user drops or chooses, with a task. */
export function IngestPanel({ onTask }: { onTask(id: string): void }) {
  const [chosen, setChosen] = useState<ChosenFile>()
  const [problem, setProblem] = useState<string>()
  // Another input for the next file, because the same file may be chosen again.
  const [round, setRound] = useState(0)
  const clear = () => {
    setChosen(undefined)
    setRound(round + 1)
  }
  const choose = async (file: File | undefined) => {
    if (file === undefined) return
    try {
      setChosen({ file, sample: await sampleOf(file) })
      setProblem(undefined)
    } catch (error) {
      setChosen(undefined)
      setProblem(visible(`${file.name}: ${(error as Error).message}`))
    }
  }
  return (
    <section className="review" aria-labelledby="ingest-title">
      <h2 id="ingest-title">Ingest a file</h2>
      <DropZone key={round} onFile={(file) => void choose(file)} />
      {problem && <Problem>{problem}</Problem>}
      {chosen && (
        <IngestForm
          key={`${chosen.file.name} ${chosen.file.lastModified} ${chosen.file.size}`}
          chosen={chosen}
          onTask={(id) => {
            clear()
            onTask(id)
          }}
          onDiscard={clear}
        />
      )}
    </section>
  )
}

function DropZone({ onFile }: { onFile(file: File | undefined): void }) {
  const [isOver, setIsOver] = useState(false)
  const onDrop = (event: DragEvent) => {
    event.preventDefault()
    setIsOver(false)
    onFile(event.dataTransfer.files[0])
  }
  return (
    <div
      className={isOver ? 'drop-zone small over' : 'drop-zone small'}
      onDrop={onDrop}
      onDragOver={(event) => {
        event.preventDefault()
        setIsOver(true)
      }}
      onDragLeave={() => setIsOver(false)}
    >
      <p>Drop a CSV file with a header line here, or a file with one JSON object per line.</p>
      <label className="file-button">
        Choose a file
        <input
          type="file"
          accept=".csv,.json,.jsonl,.ndjson"
          onChange={(event) => onFile(event.target.files?.[0])}
        />
      </label>
    </div>
  )
}

async function sampleOf(file: File): Promise<InputSample> {
  if (file.size > maxInlineDataBytes)
    throw new Error(
      `The file is too large (${formatBytes(file.size)}): expected at most ${formatBytes(maxInlineDataBytes)}. Ingest it with ./svc ingest.`,
    )
  const text = await file.slice(0, maxSampleBytes).text()
  // The last line may be incomplete.
  return sampleInput(file.size > maxSampleBytes ? text.slice(0, text.lastIndexOf('\n')) : text)
}

/** The name of a datasource for a file: its own without the extension and other characters. */
const nameFor = (file: string): string =>
  file
    .replace(/\.[^.]*$/, '')
    .replaceAll(/[^\w-]+/g, '_')
    .slice(0, 100)

function IngestForm({
  chosen: { file, sample },
  onTask,
  onDiscard,
}: {
  readonly chosen: ChosenFile
  onTask(id: string): void
  onDiscard(): void
}) {
  const queries = useQueryClient()
  const { data: inventory } = useInventory()
  const [ingestion, setIngestion] = useState(() => ingestionOf(file.name, sample))
  const { dataSource, timestampColumn, append } = ingestion
  const change = (changed: Partial<FileIngestion>) => setIngestion({ ...ingestion, ...changed })
  const { problem, isBusy, run } = useWork()
  const { data: caller } = useCaller(dataSource)
  const isForbidden = caller?.datasource?.write === false
  const isNew = inventory?.datasources.every(({ name, segments }) => name !== dataSource || segments === 0)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void run(async () => {
      const body = fileTask(ingestion, { type: 'inline', data: await file.text() })
      const { task } = await fetchJson<{ task: string }>('/svc/indexer/v1/task', { method: 'POST', body })
      await queries.invalidateQueries({ queryKey: ['tasks'] })
      onTask(task)
    })
  }
  return (
    <form className="review" onSubmit={submit}>
      <Columns sample={sample} />
      <Fields sample={sample} ingestion={ingestion} onChange={change} />
      {isNew ? (
        <p className="hint">
          Ingests {formatBytes(file.size)} into the new datasource <Name>{dataSource}</Name>.
        </p>
      ) : (
        <>
          <Append isOn={append} onChange={(isOn) => change({ append: isOn })} />
          <p className="hint">
            Ingests {formatBytes(file.size)}
            {append ? ' and keeps' : ' and replaces'} the existing data of <Name>{dataSource}</Name> in the
            time range of the file.
          </p>
        </>
      )}
      {isForbidden && <p className="hint">Ingestion requires WRITE on the datasource.</p>}
      {problem && <Problem>{problem}</Problem>}
      <div className="row">
        <button
          type="submit"
          className="primary"
          disabled={isBusy || isForbidden || dataSource === '' || timestampColumn === ''}
        >
          Ingest
        </button>
        <button type="button" onClick={onDiscard}>
          Discard
        </button>
      </div>
    </form>
  )
}

const Append = ({ isOn, onChange }: { readonly isOn: boolean; onChange(isOn: boolean): void }) => (
  <label className="check">
    <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.target.checked)} />
    Keep existing data in the same time range
  </label>
)

/** What the form begins with. */
const ingestionOf = (file: string, sample: InputSample): FileIngestion => ({
  dataSource: nameFor(file),
  timestampColumn: sample.timestamp ?? '',
  timestampFormat: 'auto',
  granularity: 'DAY',
  format: sample.format,
  append: false,
  dimensions: [],
})

function Fields({
  sample,
  ingestion,
  onChange,
}: {
  readonly sample: InputSample
  readonly ingestion: FileIngestion
  onChange(changed: Partial<FileIngestion>): void
}) {
  return (
    <div className="fields">
      <label>
        Datasource
        <input
          value={ingestion.dataSource}
          spellCheck={false}
          onChange={(event) => onChange({ dataSource: event.target.value })}
        />
      </label>
      <label>
        Timestamp column
        <select
          value={ingestion.timestampColumn}
          onChange={(event) => onChange({ timestampColumn: event.target.value })}
        >
          <option value="">Choose a column…</option>
          {sample.columns.map(({ name }) => (
            <option key={name} value={name}>
              {visible(name)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Segment granularity
        <select
          value={ingestion.granularity}
          onChange={(event) => onChange({ granularity: event.target.value as FileIngestion['granularity'] })}
        >
          {segmentGranularities.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    </div>
  )
}

function Columns({ sample }: { readonly sample: InputSample }) {
  return (
    <table>
      <thead>
        <tr>
          <th>column</th>
          <th>values</th>
          <th>first values</th>
        </tr>
      </thead>
      <tbody>
        {sample.columns.map(({ name, kind, examples }) => (
          <tr key={name}>
            <th scope="row">
              <Name>{name}</Name>
            </th>
            <td>{kind}</td>
            <td className="dim">
              <Name>{examples.join(', ').slice(0, 80)}</Name>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
