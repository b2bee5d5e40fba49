import { useRef, useState } from 'react'
import { fetchJson, send } from '../session/index.ts'

/** The rows of a result, with the names and the SQL types of its columns. */
export interface QueryResult {
  readonly query: string
  readonly columns: readonly string[]
  readonly types: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
  readonly tookMs: number
  /** Whether the result ends at the limit, so there may be more rows. */
  readonly isCut: boolean
}

/** Rows that the page shows. A download has all of them. */
export const maxRows = 10_000

const path = '/svc/v2/sql'

/** Returns a new ID. Browsers have a function for UUIDs only on pages that were loaded securely. */
const newQueryId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )

/** Runs one query at a time. */
export function useQueryRun() {
  const [result, setResult] = useState<QueryResult>()
  const [problem, setProblem] = useState<string>()
  const [isRunning, setIsRunning] = useState(false)
  const current = useRef<{ readonly id: string; readonly controller: AbortController }>(undefined)

  async function run(query: string): Promise<void> {
    const id = newQueryId()
    const controller = new AbortController()
    current.current = { id, controller }
    setIsRunning(true)
    setProblem(undefined)
    const startedAt = performance.now()
    try {
      const [columns = [], types = [], ...rows] = await fetchJson<(readonly unknown[])[]>(path, {
        method: 'POST',
        signal: controller.signal,
        body: {
          query,
          resultFormat: 'array',
          header: true,
          sqlTypesHeader: true,
          context: { sqlQueryId: id, sqlOuterLimit: maxRows },
        },
      })
      setResult({
        query,
        columns: columns.map(String),
        types: types.map(String),
        rows,
        tookMs: performance.now() - startedAt,
        isCut: rows.length === maxRows,
      })
    } catch (error) {
      setProblem(controller.signal.aborted ? 'Canceled.' : (error as Error).message)
    }
    setIsRunning(false)
  }

  async function cancel(): Promise<void> {
    const running = current.current
    if (running === undefined) return
    running.controller.abort()
    // The query may have ended in the meantime.
    await send(`${path}/${running.id}`, { method: 'DELETE' }).catch(() => undefined)
  }

  async function download(query: string): Promise<void> {
    setProblem(undefined)
    try {
      const response = await send(path, {
        method: 'POST',
        body: { query, resultFormat: 'csv', header: true },
      })
      const address = URL.createObjectURL(await response.blob())
      const link = document.createElement('a')
      link.href = address
      link.download = 'result.csv'
      link.click()
      setTimeout(() => URL.revokeObjectURL(address), 10_000)
    } catch (error) {
      setProblem((error as Error).message)
    }
  }

  return { result, problem, isRunning, run, cancel, download }
}
