import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { it } from 'node:test'
import { linesOf } from './index.ts'

for (const { text, lines } of [
  { text: '', lines: [] },
  { text: '\n', lines: [''] },
  { text: 'a\nb\n', lines: ['a', 'b'] },
  { text: 'a\r\n\r\nb', lines: ['a', '', 'b'] },
  { text: '"\u2028\u2029\u0085"\n"ü\u{1F600}"\n', lines: ['"\u2028\u2029\u0085"', '"ü\u{1F600}"'] },
]) {
  it(`${JSON.stringify(text)} has [${lines.length}] lines, regardless of how it is split into chunks`, async () => {
    const bytes = Buffer.from(text)
    for (const size of [1, 2, 1000]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      )
      const found: string[] = []
      for await (const line of linesOf(Readable.from(pieces, { objectMode: false }))) found.push(line)
      assert.deepEqual(found, lines)
    }
  })
}

it('rejects a line that is too long', async () => {
  const endless = Readable.from(
    (function* () {
      for (;;) yield 'a'.repeat(1000)
    })(),
    { objectMode: false },
  )
  await assert.rejects(linesOf(endless, 5000).next(), /A line has more than \[5000\] characters/)
})
