import type { IndexProgress } from '@svc/shared/ingestion'
import { countOf } from '../terminal/index.ts'
import type { TaskStatus } from './task.ts'

/** What an ingestion is doing. */
export type IngestPhase =
  | { readonly kind: 'copying' }
  | { readonly kind: 'task'; readonly status: TaskStatus }
  /** Segments are being loaded; `percent` is the load status from the coordinator. */
  | { readonly kind: 'loading'; readonly percent: number }

/** The range of each phase of a task on the scale from 0 to 1. */
const shares: Readonly<Record<IndexProgress['phase'], { from: number; share: number; text: string }>> = {
  fetching: { from: 0, share: 0.05, text: 'Fetching the input' },
  reading: { from: 0.05, share: 0.55, text: 'Reading and sorting rows' },
  writing: { from: 0.6, share: 0.4, text: 'Writing segments' },
}

/** Progress of a phase, from 0 to 1, and its description. */
export function progressOf(phase: IngestPhase): { readonly fraction: number; readonly text: string } {
  if (phase.kind === 'copying') return { fraction: 0, text: 'Copying the file' }
  if (phase.kind === 'loading')
    return { fraction: phase.percent / 100, text: 'Loading segments onto historicals' }
  const { progress, runnerStatusCode } = phase.status
  if (!progress) {
    return {
      fraction: 0,
      text: runnerStatusCode === 'RUNNING' ? 'Starting the task' : 'Waiting for a worker slot',
    }
  }
  const { from, share, text } = shares[progress.phase]
  const done = Math.min(Math.max(progress.fraction ?? 0, 0), 1)
  return { fraction: from + share * done, text: [text, ...countsOf(progress)].join(', ') }
}

/** The counts so far, for example `20,000 rows read`. */
function countsOf({
  rowsRead,
  rowsWritten,
  segmentsWritten,
}: Omit<IndexProgress, 'phase' | 'fraction'>): string[] {
  return [
    ...(rowsRead ? [`${countOf(rowsRead, 'row')} read`] : []),
    ...(segmentsWritten ? [`${countOf(rowsWritten, 'row')} in ${countOf(segmentsWritten, 'segment')}`] : []),
  ]
}

/** Warnings about an ingested file. */
export function warningsOf(
  { columnsInNoRow = [] }: Pick<IndexProgress, 'columnsInNoRow'>,
  file: string,
): string[] {
  return columnsInNoRow.map((column) => `Column [${column}] is not in any row of file [${file}]`)
}
