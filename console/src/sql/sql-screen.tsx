import { countOf, formatCount } from '@svc/domain/text'
import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { ClockOfCluster, PresentNotice } from '../clock/index.ts'
import { Drafts, useDraft } from '../drafts/index.ts'
import { fetchJson } from '../session/index.ts'
import { Name, Problem } from '../ui/index.ts'
import { ResultTable } from './result-table.tsx'
import { maxRows, type QueryResult, useQueryRun } from './use-query-run.ts'

// The tab keeps the query while other screens are shown.
const queries = new Drafts<string>()

/** Runs SQL queries on the data that the user may read. */
export function SqlScreen() {
  const [query = '', setQuery] = useDraft(queries, 'query')
  const { result, problem, isRunning, run, cancel, download } = useQueryRun()
  // A failed or canceled query has no result, so the last one is that of another query.
  const isOutdated = result !== undefined && (isRunning || problem !== undefined || result.query !== query)
  const canRun = query.trim() !== '' && !isRunning
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    if (canRun) void run(query)
  }
  return (
    <div className="datasource">
      <div className="picture">
        <div className="row between">
          <h1>SQL</h1>
          <ClockOfCluster />
        </div>
        <PresentNotice what="queries" />
        <textarea
          aria-label="Query"
          rows={7}
          spellCheck={false}
          value={query}
          placeholder="SELECT …"
          onChange={(event) => setQuery(event.target.value)}
          onKeyDown={onKey}
        />
        <div className="row between">
          <span className="row">
            <button
              type="button"
              className="primary"
              disabled={!canRun}
              title="Ctrl+Enter"
              onClick={() => void run(query)}
            >
              Run
            </button>
            <button type="button" disabled={!isRunning} onClick={() => void cancel()}>
              Cancel
            </button>
            <span className="dim numbers" role="status">
              {isRunning
                ? 'Running…'
                : result && `${figuresOf(result)}${isOutdated ? ', of an earlier query' : ''}`}
            </span>
          </span>
          <button type="button" disabled={!canRun} onClick={() => void download(query)}>
            Download as CSV
          </button>
        </div>
        {problem && <Problem>{problem}</Problem>}
        {result && (
          <div className={isOutdated ? 'outdated' : ''}>
            <ResultTable result={result} />
          </div>
        )}
        {!result && !problem && (
          <p className="hint">
            Write a SELECT statement, or choose a table. Ctrl+Enter runs it. Queries only read data.
          </p>
        )}
      </div>
      <Tables onInsert={setQuery} />
    </div>
  )
}

const figuresOf = ({ isCut, rows, tookMs }: QueryResult): string =>
  `${isCut ? `The first ${formatCount(maxRows)} rows` : countOf(rows.length, 'row')} in ${formatCount(Math.round(tookMs))} ms`

/** The tables that the user may query. */
function Tables({ onInsert }: { onInsert(query: string): void }) {
  const tables = useQuery({
    queryKey: ['tables'],
    queryFn: () => fetchJson<readonly string[]>('/svc/v2/datasources'),
  })
  return (
    <aside aria-label="Tables">
      <h2>Tables</h2>
      {tables.error && <p className="problem">{tables.error.message}</p>}
      {tables.data?.length === 0 && <p className="hint">There are no datasources that you can query.</p>}
      <ul className="lead">
        {tables.data?.map((name) => (
          <li key={name}>
            <Table name={name} onInsert={onInsert} />
          </li>
        ))}
      </ul>
    </aside>
  )
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** A table with its columns, which are fetched when it is opened. */
function Table({ name, onInsert }: { readonly name: string; onInsert(query: string): void }) {
  const [isOpen, setIsOpen] = useState(false)
  const columns = useQuery({
    queryKey: ['columns', name],
    queryFn: () =>
      fetchJson<{ readonly dimensions: readonly string[]; readonly metrics: readonly string[] }>(
        `/svc/v2/datasources/${encodeURIComponent(name)}`,
      ),
    enabled: isOpen,
  })
  const list = ['__time', ...(columns.data?.dimensions ?? []), ...(columns.data?.metrics ?? [])]
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <Name>{name}</Name>
      </summary>
      <ul className="columns-of-table">
        {columns.data &&
          list.map((column) => (
            <li key={column}>
              <Name>{column}</Name>
            </li>
          ))}
        {columns.error && <li className="problem">{columns.error.message}</li>}
      </ul>
      <button
        type="button"
        className="chip"
        onClick={() => onInsert(`SELECT *\nFROM ${quoted(name)}\nORDER BY __time DESC\nLIMIT 100`)}
      >
        Show rows
      </button>
    </details>
  )
}
