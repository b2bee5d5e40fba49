import type { IndexProgress } from '@svc/shared/ingestion'
import type { TaskStatus } from './task.ts'

/** What an ingestion is doing. */
export type IngestPhase =
  | { readonly kind: 'copying' }
  | { readonly kind: 'task'; readonly status: TaskStatus }
  /** Segments are being loaded; `percent` is what the coordinator tells. */
  | { readonly kind: 'loading'; readonly percent: number }

/** Where on the way from 0 to 1 each phase of a task begins and how much of it is its own. */
const shares: Readonly<Record<IndexProgress['phase'], { from: number; share: number; text: string }>> = {
  fetching: { from: 0, share: 0.05, text: 'fetching the input' },
  reading: { from: 0.05, share: 0.55, text: 'reading and sorting rows' },
  writing: { from: 0.6, share: 0.4, text: 'writing segments' },
}

/** How much is done, from 0 to 1, and of what. */
export function progressOf(phase: IngestPhase): { readonly fraction: number; readonly text: string } {
  if (phase.kind === 'copying') return { fraction: 0, text: 'copying the file' }
  if (phase.kind === 'loading')
    return { fraction: phase.percent / 100, text: 'historicals load the segments' }
  const { progress, runnerStatusCode } = phase.status
  if (!progress) {
    return {
      fraction: 0,
      text: runnerStatusCode === 'RUNNING' ? 'the task starts' : 'waiting for a worker slot',
    }
  }
  const { from, share, text } = shares[progress.phase]
  const done = Math.min(Math.max(progress.fraction ?? 0, 0), 1)
  return { fraction: from + share * done, text: [text, ...countsOf(progress)].join(', ') }
}

/** What was counted so far, such as `20,000 rows read`. */
export function countsOf({
  rowsRead,
  rowsWritten,
  segmentsWritten,
}: Omit<IndexProgress, 'phase' | 'fraction'>): string[] {
  return [
    ...(rowsRead ? [`${countText(rowsRead, 'row')} read`] : []),
    ...(segmentsWritten
      ? [`${countText(rowsWritten, 'row')} in ${countText(segmentsWritten, 'segment')}`]
      : []),
  ]
}

/** What is to be told of a file beside its counts. */
export function warningsOf(
  { columnsInNoRow = [] }: Pick<IndexProgress, 'columnsInNoRow'>,
  file: string,
): string[] {
  return columnsInNoRow.map((column) => `column [${column}] is in no row of file [${file}]`)
}

function countText(count: number, thing: string): string {
  return `${count.toLocaleString('en-US')} ${thing}${count === 1 ? '' : 's'}`
}
