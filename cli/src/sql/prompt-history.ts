import { readFileSync, writeFileSync } from 'node:fs'
import type { Interface } from 'node:readline'

/** The maximum number of queries that are kept. */
export const maxHistory = 500

/** The queries of this session and earlier ones. */
export interface PromptHistory {
  /** Newest first. */
  readonly entries: readonly string[]
  /** Fills the history of a terminal with these queries. */
  follow(terminal: Interface): void
  /** Adds a query and stores the history. */
  remember(query: string): void
}

/** Reads the history from a file; it is empty if the file cannot be read. Without a file, nothing is stored. */
export function openHistory(file: string | undefined): PromptHistory {
  const entries = file === undefined ? [] : readEntries(file)
  let shown: string[] | undefined
  return {
    entries,
    follow: (terminal) => {
      // All lines of a query become one history entry once the query is complete.
      terminal.on('history', (history) => {
        shown = history
        history.splice(0, history.length, ...entries)
      })
    },
    remember: (query) => {
      const entry = query.replace(/\s*\n\s*/g, ' ')
      if (entries[0] === entry) return
      entries.unshift(entry)
      entries.splice(maxHistory)
      shown?.splice(0, shown.length, ...entries)
      if (file !== undefined) writeFileSync(file, entries.toReversed().join('\n'), { mode: 0o600 })
    },
  }
}

function readEntries(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean).toReversed().slice(0, maxHistory)
  } catch {
    return []
  }
}
