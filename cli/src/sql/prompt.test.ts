import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-prompt-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('closing the prompt cancels a running query and exits cleanly', async () => {
  const program = `
    import { runPrompt } from ${JSON.stringify(path.join(import.meta.dirname, 'prompt.ts'))}
    await runPrompt(${JSON.stringify(path.join(folder, 'history'))}, async (query, signal) => {
      console.log('received', query)
      const isOver = setInterval(() => {}, 1000)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        .finally(() => clearInterval(isOver))
    })
    console.log('left')`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  const problems = text(child.stderr)
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    printed += piece
    if (printed.includes('received')) child.stdin.end()
  })
  child.stdin.write('SELECT 1;\n')
  assert.deepEqual(await ended, [0, null])
  assert.equal(await problems, '')
  assert.match(printed, /received SELECT 1;\n.*Canceled\.\n.*left\n$/s)
})
