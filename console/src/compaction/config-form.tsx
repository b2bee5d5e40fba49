import { isJsonObject } from '@svc/domain/validation'
import { useState } from 'react'
import type { CompactionConfigJson } from '../cluster/index.ts'

type Json = Readonly<Record<string, unknown>>

const asObject = (value: unknown): Json =>
  typeof value === 'object' && value !== null ? (value as Json) : {}

/** Returns an object without fields that are undefined. */
const compact = (object: Json): Json =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== null))

const partitionings = [
  ['none', 'engine default'],
  ['dynamic', 'dynamic: split by row count only'],
  ['range', 'range: sorted by columns'],
] as const
const granularities = ['HOUR', 'DAY', 'WEEK', 'MONTH', 'QUARTER', 'YEAR']

/** The fields of a configuration that most datasources need. All others can be edited as JSON. */
export function ConfigForm({
  config,
  isReadOnly,
  onChange,
}: {
  readonly config: CompactionConfigJson
  readonly isReadOnly: boolean
  onChange(config: CompactionConfigJson): void
}) {
  const granularity = asObject(config.granularitySpec)
  const set = (fields: Json) =>
    onChange({ ...compact({ ...config, ...fields }), dataSource: config.dataSource })
  return (
    <fieldset className="config-form" disabled={isReadOnly}>
      <legend className="unseen">Compaction</legend>
      <label>
        Skip offset from latest
        <input
          value={String(config.skipOffsetFromLatest ?? 'P1D')}
          spellCheck={false}
          title="The newest data within this period is not compacted"
          onChange={(event) => set({ skipOffsetFromLatest: event.target.value })}
        />
      </label>
      <label>
        Segment granularity
        <select
          value={String(granularity.segmentGranularity ?? '')}
          onChange={(event) => {
            const segmentGranularity = event.target.value === '' ? undefined : event.target.value
            const spec = compact({ ...granularity, segmentGranularity })
            set({ granularitySpec: Object.keys(spec).length === 0 ? undefined : spec })
          }}
        >
          <option value="">keep existing</option>
          {granularities.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <Partitioning config={config} set={set} />
      <label>
        Task priority
        <input
          type="number"
          value={String(config.taskPriority ?? 25)}
          onChange={(event) => set({ taskPriority: Number(event.target.value) })}
        />
      </label>
      <AsJson config={config} onChange={onChange} />
    </fieldset>
  )
}

function Partitioning({ config, set }: { readonly config: CompactionConfigJson; set(fields: Json): void }) {
  const tuning = asObject(config.tuningConfig)
  const partitions = asObject(tuning.partitionsSpec)
  const setPartitions = (spec: Json | undefined) => {
    const next = compact({ ...tuning, partitionsSpec: spec && compact(spec) })
    set({ tuningConfig: Object.keys(next).length === 0 ? undefined : next })
  }
  const columns = partitions.partitionDimensions
  const type = String(partitions.type ?? 'none')
  const rowsField = type === 'dynamic' ? 'maxRowsPerSegment' : 'targetRowsPerSegment'
  return (
    <>
      <label>
        Partitioning
        <select
          value={type}
          onChange={(event) => {
            const next = event.target.value
            setPartitions(
              next === 'none'
                ? undefined
                : next === 'dynamic'
                  ? { type: next, maxRowsPerSegment: 5_000_000 }
                  : { type: next, partitionDimensions: [], targetRowsPerSegment: 5_000_000 },
            )
          }}
        >
          {partitionings.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
          {!partitionings.some(([value]) => value === type) && <option>{type}</option>}
        </select>
      </label>
      {type !== 'none' && (
        <label>
          Rows per segment
          <input
            type="number"
            min={1}
            value={String(partitions[rowsField] ?? '')}
            onChange={(event) => setPartitions({ ...partitions, [rowsField]: Number(event.target.value) })}
          />
        </label>
      )}
      {type === 'range' && (
        <label>
          Columns to sort by
          <input
            value={Array.isArray(columns) ? columns.join(', ') : ''}
            onChange={(event) =>
              setPartitions({ ...partitions, partitionDimensions: event.target.value.split(/,\s*/) })
            }
          />
        </label>
      )}
    </>
  )
}

/** The entire configuration as text. Applied to the form while it is valid JSON. */
function AsJson({
  config,
  onChange,
}: {
  readonly config: CompactionConfigJson
  onChange(config: CompactionConfigJson): void
}) {
  const [text, setText] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const change = (value: string) => {
    setText(value)
    try {
      const parsed = JSON.parse(value) as unknown
      if (!isJsonObject(parsed)) throw new Error('Invalid configuration: expected a JSON object')
      setProblem(undefined)
      onChange({ ...parsed, dataSource: config.dataSource })
    } catch (error) {
      setProblem((error as Error).message)
    }
  }
  return (
    <details>
      <summary>All fields as JSON</summary>
      <textarea
        aria-label="Configuration as JSON"
        rows={14}
        spellCheck={false}
        value={text ?? JSON.stringify(config, null, 2)}
        onChange={(event) => change(event.target.value)}
        onBlur={() => problem === undefined && setText(undefined)}
      />
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </details>
  )
}
