import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FileIngestion } from '@svc/domain/ingestion'
import { parseIndexSpec } from '@svc/shared/ingestion'
import { indexTask, parseIngest, type WrittenIngest } from './index-task.ts'

const written: WrittenIngest = {
  datasource: 'flights',
  timestamp: 'time',
  granularity: 'DAY',
  timestampFormat: 'auto',
}

const spec: FileIngestion = {
  dataSource: 'flights',
  timestampColumn: 'time',
  timestampFormat: 'auto',
  granularity: 'DAY',
  format: 'csv',
  append: false,
  dimensions: [],
}

describe('parses options into a specification', () => {
  const cases: {
    name: string
    file: string
    given?: Partial<WrittenIngest>
    expect: Partial<FileIngestion>
  }[] = [
    { name: 'defaults', file: 'a.csv', expect: {} },
    { name: 'json by its extension', file: 'a.json', expect: { format: 'json' } },
    { name: 'json lines', file: 'a.b.JSONL', expect: { format: 'json' } },
    { name: 'compressed', file: 'a.ndjson.gz', expect: { format: 'json' } },
    { name: 'parquet', file: '/x/a.parquet', expect: { format: 'parquet' } },
    { name: 'a format overrides the extension', file: 'a.json', given: { format: 'csv' }, expect: {} },
    {
      name: 'granularities in any case',
      file: 'a.csv',
      given: { granularity: 'five_minute' },
      expect: { granularity: 'FIVE_MINUTE' },
    },
    {
      name: 'dimensions',
      file: 'a.csv',
      given: { dimensions: 'a, b' },
      expect: { dimensions: ['a', 'b'] },
    },
    { name: 'append', file: 'a.csv', given: { append: true }, expect: { append: true } },
  ]
  for (const { name, file, given, expect } of cases) {
    test(name, () => assert.deepEqual(parseIngest(file, { ...written, ...given }), { ...spec, ...expect }))
  }
})

describe('rejects invalid options', () => {
  const cases: { file: string; given?: Partial<WrittenIngest>; message: RegExp }[] = [
    {
      file: 'README',
      message: /^Failure: Unknown file extension of \[README\]: set --format to one of \[csv\], \[json\]/,
    },
    {
      file: 'a.csv',
      given: { format: 'xls' },
      message: /^Failure: Invalid value \[xls\] for \[--format\]: expected one of \[csv\]/,
    },
    {
      file: 'a.csv',
      given: { granularity: 'NONE' },
      message: /^Failure: Invalid value \[NONE\] for \[--granularity\]/,
    },
    {
      file: 'a.csv',
      given: { granularity: 'daily' },
      message: /^Failure: Invalid value \[daily\] for \[--granularity\]/,
    },
    {
      file: 'a.csv',
      given: { dimensions: 'a,,b' },
      message: /^Failure: Invalid value \[a,,b\] for \[--dimensions\]/,
    },
  ]
  for (const { file, given, message } of cases) {
    test(JSON.stringify({ file, ...given }), () =>
      assert.throws(() => parseIngest(file, { ...written, ...given }), message),
    )
  }
})

test('the overlord parses every task correctly', () => {
  const access = { allowedRoots: ['/in'], allowedHosts: [] }
  for (const format of ['csv', 'json', 'parquet'] as const) {
    const task = indexTask({ ...spec, format, dimensions: ['a'], append: true }, '/in/file')
    const read = parseIndexSpec(task, access)
    assert.equal(read.inputFormat.type, format)
    assert.deepEqual(read.inputSource, { type: 'local', files: ['/in/file'] })
    assert.deepEqual(read.dimensions, [{ name: 'a', type: 'string' }])
    assert.equal(read.timestamp.column, 'time')
    assert.deepEqual(
      [read.dataSource, read.segmentGranularity, read.rollup, read.appendToExisting],
      ['flights', 'DAY', false, true],
    )
  }
})
