import { countOf, formatSeconds } from '../terminal/index.ts'
import type { IngestResult } from './ingest-file.ts'

/** What was ingested, as a sentence. */
export function resultText({ dataSource, durationMs, counts, isLoaded }: IngestResult): string {
  const { rowsRead, rowsWritten, segmentsWritten } = counts ?? {}
  const what = rowsWritten ? countOf(rowsWritten, 'row') : 'the file'
  const facts = [
    ...(rowsRead ? [`${countOf(rowsRead, 'row')} read`] : []),
    ...(segmentsWritten ? [countOf(segmentsWritten, 'segment')] : []),
    ...(isLoaded ? ['served by historicals'] : []),
  ]
  const details = facts.length === 0 ? '' : ` (${facts.join(', ')})`
  return `Ingested ${what} into [${dataSource}] in ${formatSeconds(durationMs)}${details}.\n`
}
