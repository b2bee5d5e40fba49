import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseOptions, startCluster, type WrittenOptions } from '../cluster/index.ts'
import { withOptionNames } from './option-names.ts'

const invalid: readonly (readonly [WrittenOptions & { adminPassword?: string; home?: string }, RegExp])[] = [
  [{ historicals: 'hot=0' }, /^Invalid entry \[hot=0\] in \[historicals\]: /],
  [{ instances: 'router=99' }, /^Invalid entry \[router=99\] in \[instances\]: /],
  [{ profile: 'other' }, /^Invalid value \[other\] for \[profile\]: /],
  [
    { set: ['broker-9.svc.host=x'] },
    /^Invalid target \[broker-9\] for property \[svc\.host\] in \[properties\]: /,
  ],
  [{ adminPassword: ' ' }, /^Invalid value for \[adminPassword\]: /],
  [
    { home: import.meta.filename },
    / is a file, not a folder\. Select another home with the option \[home\]\.$/,
  ],
]

test('messages name the options of startCluster', async () => {
  for (const [options, message] of invalid) {
    const start = async () => {
      parseOptions(options)
      await startCluster({ home: '/nosuch/home', ...options })
    }
    await assert.rejects(start(), (error: Error) => {
      assert.match(withOptionNames(error.message), message)
      return true
    })
  }
})
