import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readPage, withOutputs } from './read-page.ts'

const page = `# Title

\`\`\`sh
echo one
\`\`\`

\`\`\`text
one
\`\`\`

Prose with \`code\`.

\`\`\`sh exit=2 on=machine-1 not-run="takes an hour"
false
\`\`\`

\`\`\`json
{}
\`\`\`
`

describe('readPage', () => {
  test('reads commands with their lines, options and output', () => {
    const { suite, blocks } = readPage(page)
    assert.equal(suite, 'docs')
    const [first, second] = blocks
    assert.equal(blocks.length, 2)
    assert.deepEqual(
      { ...first, output: { line: first?.output?.line, text: first?.output?.text } },
      {
        line: 4,
        commands: 'echo one',
        exitStatus: 0,
        machine: undefined,
        notRun: undefined,
        output: { line: 8, text: 'one' },
      },
    )
    assert.deepEqual(second, {
      line: 14,
      commands: 'false',
      exitStatus: 2,
      machine: 'machine-1',
      notRun: 'takes an hour',
      output: undefined,
    })
  })

  test('reads which suite runs the page', () => {
    assert.equal(readPage('<!-- Commands run by: npm run test:compose -->\n\n# Title').suite, 'compose')
  })

  const refused: readonly (readonly [string, string, RegExp])[] = [
    ['indented commands', 'Run:\n\n    ./svc up\n', /line 3: indented code/],
    ['code in another language', '```bash\n./svc up\n```\n', /line 1: code in \[bash\]/],
    ['commands inside a list', '- Run:\n\n  ```sh\n  ./svc up\n  ```\n', /line 3: code inside a list/],
    ['an unknown option', '```sh exti=1\n./svc up\n```\n', /line 1: unknown option .* \[exti=1\]/],
    [
      'an output of any lines',
      '```sh\n./svc up\n```\n\n```text\n...\n```\n',
      /line 5: the output shows no line/,
    ],
    ['an unclosed block', '```sh\n./svc up\n', /line 1: the code block has no end/],
  ]
  for (const [name, markdown, message] of refused)
    test(`rejects ${name}, which would escape the test`, () => {
      assert.throws(() => readPage(markdown), message)
    })
})

describe('withOutputs', () => {
  test('replaces only outputs', () => {
    const updated = withOutputs(page, readPage(page), ['uno\ndue', undefined])
    assert.equal(updated, page.replace('\none\n```', '\nuno\ndue\n```'))
  })

  test('fills in an empty output', () => {
    const empty = '```sh\necho one\n```\n\n```text\n```\n\nEnd.\n'
    assert.equal(
      withOutputs(empty, readPage(empty), ['one']),
      '```sh\necho one\n```\n\n```text\none\n```\n\nEnd.\n',
    )
  })
})
