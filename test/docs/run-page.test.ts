import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { runPage } from './run-page.ts'

const root = newTestFolder()
after(() => removeTestFolder(root))

let count = 0
/** Runs a page in its own folder. */
async function run(markdown: string, isUpdating = false): Promise<string> {
  count += 1
  const folder = path.join(root, String(count))
  mkdirSync(folder)
  return runPage('docs/page.md', markdown, isUpdating, {
    folder: () => folder,
    launch: () => [],
    maxBlockMs: 5000,
    words: { 'port 9088': 'port 19088' },
  })
}

const block = (commands: string, options = '') => `\`\`\`sh ${options}\n${commands}\n\`\`\`\n\n`
const output = (text: string) => `\`\`\`text\n${text}\n\`\`\`\n\n`

describe('runPage', () => {
  test('runs all blocks in one shell, in order', async () => {
    await run(
      block('greeting=hello\ncd /') +
        block('echo $greeting; pwd; echo error >&2') +
        output('hello\n/\nerror'),
    )
  })

  test('fails at an invalid command, with page and line', async () => {
    await assert.rejects(
      run(`# Page\n\n${block('echo fine')}${block('svc-does-not-exist\necho later')}`),
      (error: Error) => {
        assert.match(error.message, /^docs\/page\.md:8: the block ended with status 127, expected 0/)
        assert.match(error.message, /docs\/page\.md: line 8: svc-does-not-exist: command not found/)
        assert.doesNotMatch(error.message, /^later$/m)
        return true
      },
    )
  })

  test('fails at a command that fails in a pipeline, unless the block may fail', async () => {
    await assert.rejects(
      run(block('false | cat')),
      /docs\/page\.md:2: the block ended with status 1, expected 0/,
    )
    await run(block('false | cat\nfalse', 'exit=1'))
  })

  test('fails at a different output, with page, line, and difference', async () => {
    await assert.rejects(run(block('echo 90 segments') + output('91 segments')), {
      message: /^docs\/page\.md:6: [^\n]*\n\+ 90 segments\n- 91 segments$/,
    })
  })

  test('fails if a command succeeds that should fail', async () => {
    await assert.rejects(
      run(block('true', 'exit=1')),
      /docs\/page\.md:2: the block ended with status 0, expected 1/,
    )
  })

  test('fails at a block that exceeds the time limit, with its output', async () => {
    await assert.rejects(run(block('echo started\nsleep 60')), (error: Error) => {
      assert.match(error.message, /^docs\/page\.md:2: the block did not end within 5 s/)
      assert.match(error.message, /^started$/m)
      return true
    })
  })

  test('continues after a block that should fail', async () => {
    await run(block('x=1; false', 'exit=1') + block('echo $x') + output('1'))
  })

  test('skips blocks that run elsewhere', async () => {
    await run(block('exit 3', 'not-run="needs a cluster"') + block('echo here') + output('here'))
  })

  test('replaces words of the page in commands, and restores them in outputs', async () => {
    await run(block('echo port 9088; echo $((19088))') + output('port 9088\n19088'))
  })

  test('shows the folder as a reader would see it', async () => {
    await run(block('pwd') + output('/home/you/svc'))
  })

  test('writes the actual output to the page on request', async () => {
    const page = `# Page\n\n${block('echo new')}${output('old')}End.\n`
    assert.equal(await run(page, true), page.replace('old', 'new'))
  })
})
