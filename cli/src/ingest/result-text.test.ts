import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { IngestResult } from './ingest-file.ts'
import { resultText } from './result-text.ts'

const result: IngestResult = {
  task: 'index_flights',
  dataSource: 'flights',
  durationMs: 3500,
  counts: null,
  isLoaded: undefined,
}

describe('the result of an ingestion', () => {
  const counts = { rowsRead: 20_000, rowsWritten: 1500, segmentsWritten: 1 }
  const cases: [name: string, more: Partial<IngestResult>, text: string][] = [
    [
      'with counts',
      { counts, isLoaded: true },
      'Ingested 1,500 rows into [flights] in 3.5 s (20,000 rows read, 1 segment, served by historicals).\n',
    ],
    ['without counts', {}, 'Ingested the file into [flights] in 3.5 s.\n'],
  ]
  for (const [name, more, text] of cases)
    test(name, () => assert.equal(resultText({ ...result, ...more }), text))
})
