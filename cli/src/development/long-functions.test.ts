import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filesWithFunctions, longFunctions } from './long-functions.ts'

/** Returns a function body. With its first and last line, the function has this number of lines. */
const bodyOf = (lines: number) => '  work()\n'.repeat(lines - 2)

test('finds functions of more than 70 lines, by their names', () => {
  const text = `function fits() {\n${bodyOf(70)}}\nfunction isTooLong() {\n${bodyOf(71)}}\n`
  assert.deepEqual(longFunctions('a.ts', text), [{ name: 'isTooLong', line: 71, lines: 71 }])
})

test('counts inner functions and JSX', () => {
  const inner = `const outer = () => {\n  const inner = () => {\n${bodyOf(71)}  }\n}\n`
  assert.deepEqual(
    longFunctions('a.ts', inner).map(({ name, lines }) => [name, lines]),
    [
      ['outer', 73],
      ['inner', 71],
    ],
  )
  const component = `export function Form() {\n  return (\n    <form>\n${'      <input />\n'.repeat(70)}    </form>\n  )\n}\n`
  assert.deepEqual(longFunctions('form.tsx', component), [{ name: 'Form', line: 1, lines: 76 }])
})

test('ignores comments before a function, and lists outside of functions', () => {
  assert.deepEqual(longFunctions('a.ts', `${'// Why.\n'.repeat(80)}function short() {}\n`), [])
  assert.deepEqual(longFunctions('a.ts', `const list = [\n${'  1,\n'.repeat(80)}]\n`), [])
})

test('checks all folders of the product and the test helpers, but no tests', () => {
  const files = filesWithFunctions()
  for (const file of [
    'cli/src/main.ts',
    'clients/node/src/svc-container.ts',
    'console/src/app.tsx',
    'console/vite.config.ts',
    'container/src/main.ts',
    'deploy/github/plan.mjs',
    'launcher/build.mjs',
    'packages/domain/src/rules/rule.ts',
    'services/router/src/main.ts',
    'packages/shared/src/testing/service-context.ts',
    'test/support/test-cluster.ts',
  ])
    assert.ok(files.includes(file), file)
  assert.deepEqual(
    files.filter((file) => file.endsWith('.test.ts')),
    [],
  )
})
