import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { isConfirmed } from './index.ts'

/** Types keys at a question. */
async function typed(keys: string): Promise<boolean> {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const confirmed = isConfirmed('Really?', input, output)
  input.write(keys)
  return await confirmed
}

describe('a question in a terminal', () => {
  const ctrlC = '\x03'
  const ctrlD = '\x04'
  for (const answer of ['y', 'YES', ' yes '])
    test(`is confirmed by [${answer}]`, async () => assert.equal(await typed(`${answer}\r`), true))
  for (const [name, keys] of [
    ['[no]', 'no\r'],
    ['an empty line', '\r'],
    ['[yesterday]', 'yesterday\r'],
    ['the end of the input', ctrlD],
  ] as const)
    test(`is not confirmed by ${name}`, async () => assert.equal(await typed(keys), false))

  test('is interrupted by Ctrl-C', async () => {
    await assert.rejects(typed(`ye${ctrlC}`), { code: 'cancelled', message: 'Interrupted by SIGINT' })
  })
})
