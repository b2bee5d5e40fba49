import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTermsOfRequest, isAboutRequest } from './task-message.ts'

const names = { inputPath: '/home/input/ingest-DqKjip/bad.csv', file: '../data/bad.csv' }

const cases: { given: string; expect: string; isAboutCluster?: boolean }[] = [
  {
    given: `The input has more than [0] invalid rows, the limit set by [spec.tuningConfig.maxParseExceptions]. First invalid row: Invalid value [x] for timestamp column [t] in row [2] of file [${names.inputPath}]: expected format [auto]`,
    expect:
      'Invalid value [x] for timestamp column [t] (--timestamp) in row [2] of file [../data/bad.csv]: expected format [auto] (--timestamp-format)',
  },
  {
    given:
      'Invalid value [t] for [spec.dataSchema.timestampSpec.column]: expected one of the input columns [a, b]',
    expect: 'Invalid value [t] for [--timestamp]: expected one of the input columns [a, b]',
  },
  {
    given: `Invalid value [${names.inputPath}] for [spec.ioConfig.inputSource.files[0]]: expected a regular file`,
    expect: 'Invalid value [../data/bad.csv] for [file]: expected a regular file',
  },
  {
    given: 'The task process died (SIGKILL)',
    expect: 'The task process died (SIGKILL)',
    isAboutCluster: true,
  },
]

for (const { given, expect, isAboutCluster = false } of cases) {
  test(expect, () => {
    assert.equal(inTermsOfRequest(given, names), expect)
    assert.equal(isAboutRequest(expect), !isAboutCluster)
  })
}
