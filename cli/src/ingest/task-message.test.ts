import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTermsOfRequest } from './task-message.ts'

const names = { inputPath: '/home/input/ingest-DqKjip/bad.csv', file: '../data/bad.csv' }

const cases: { given: string; expect: string }[] = [
  {
    given: `More rows cannot be read than spec.tuningConfig.maxParseExceptions[0] allows: Row[2] of file[${names.inputPath}] has the value [x] in timestamp column[t], which should be of format[auto]`,
    expect:
      'Row[2] of file[../data/bad.csv] has the value [x] in timestamp column[t] (--timestamp), which should be of format[auto] (--timestamp-format)',
  },
  {
    given:
      'spec.dataSchema.timestampSpec.column has the value [t], which the input does not have; its columns are [a, b]',
    expect: '--timestamp has the value [t], which the input does not have; its columns are [a, b]',
  },
  {
    given: `spec.ioConfig.inputSource.files[0] has the value [${names.inputPath}], which is not a file`,
    expect: 'file has the value [../data/bad.csv], which is not a file',
  },
  { given: 'The task process died (SIGKILL)', expect: 'The task process died (SIGKILL)' },
]

for (const { given, expect } of cases) {
  test(expect, () => assert.equal(inTermsOfRequest(given, names), expect))
}
