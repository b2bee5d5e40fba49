import assert from 'node:assert/strict'
import { describe, mock, test } from 'node:test'
import { printMessage, printProgress, printText } from './index.ts'

/** What is written to a stream while something is printed. */
function written(stream: NodeJS.WriteStream, print: () => void): string {
  const write = mock.method(stream, 'write', () => true)
  try {
    print()
    return write.mock.calls.map(({ arguments: [text] }) => String(text)).join('')
  } finally {
    write.mock.restore()
  }
}

describe('control characters and marks of direction in names are escaped, but not line breaks', () => {
  const text = 'Unknown tier [a\u001b]0;x\u0007\u009b31m\u202e]\nand more'
  const safe = 'Unknown tier [a\\u001b]0;x\\u0007\\u009b31m\\u202e]\nand more'
  const cases: [name: string, stream: NodeJS.WriteStream, print: () => void, expected: string][] = [
    ['in messages', process.stderr, () => printMessage(text), `svc: ${safe}\n`],
    ['in progress', process.stderr, () => printProgress(text), `${safe}\n`],
    ['in sentences', process.stdout, () => printText([text]), `${safe}\n`],
  ]
  for (const [name, stream, print, expected] of cases)
    test(name, () => assert.equal(written(stream, print), expected))
})
