import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findPhrases, searched } from './find-phrases.ts'
import { nameParts, phrases } from './phrases.ts'

describe('prose', () => {
  for (const phrase of phrases) {
    for (const example of phrase.found) {
      test(`finds a phrase in [${example}]`, () => assert.match(example, searched(phrase)))
    }
    for (const example of phrase.allowed) {
      test(`finds nothing in [${example}]`, () => {
        assert.doesNotMatch(example, searched(phrase))
        assert.deepEqual(findPhrases('a.md', example), [])
      })
    }
  }
})

describe('identifiers', () => {
  for (const { pattern, found, allowed } of nameParts) {
    for (const name of found) test(`rejects ${name}`, () => assert.match(name, pattern))
    for (const name of allowed) {
      test(`accepts ${name}`, () => assert.ok(nameParts.every((part) => !part.pattern.test(name))))
    }
  }
})

describe('a phrase is found', () => {
  const cases: readonly [where: string, file: string, text: string, lines: readonly number[]][] = [
    ['in a comment', 'a.ts', '\n// It goes on.\n', [2]],
    ['across the lines of a comment', 'a.ts', '/**\n * It goes\n * on.\n */', [2]],
    ['across lines of comments', 'a.ts', '// It goes\n// on.\nf()', [1]],
    ['in a string', 'a.ts', "\nlog('It goes on')", [2]],
    ['in a template', 'a.ts', `log(\`\${server} goes on \${time}\`)`, [1]],
    ['in a test name', 'a.test.ts', "test('the broker goes on', () => {})", [1]],
    ['in Markdown', 'a.md', 'It goes\non.', [1]],
    ['in a comment of YAML', 'a.yml', 'a: 1 # It goes on.\n', [1]],
    ['across lines of a comment of YAML', 'a.yml', 'b: 1\n# It goes\n# on.\n', [2]],
    ['in an identifier, once a file', 'a.ts', 'const toldLeader = 1\nf(toldLeader)', [1]],
    ['in a text of JSX', 'a.tsx', 'const a = <p>\nIt goes on.\n</p>', [2]],
    ['across the tags of a sentence of JSX', 'a.tsx', 'const a = <p>It <b>goes</b> on.</p>', [1]],
    ['across lines of JSX', 'a.tsx', "const a = <p>\nIt goes{' '}\n<b>on</b>.\n</p>", [2]],
    ['in an attribute of JSX', 'a.tsx', 'const a = <p title="It goes on." />', [1]],
    ['not across two elements of JSX', 'a.tsx', 'const a = <><p>It goes</p><p>on a server</p></>', []],
    ['not across a value in JSX', 'a.tsx', 'const a = <p>It goes {count} on.</p>', []],
    ['in Java', 'A.java', 'class A {\n  /** It goes on. */\n  String b = "It goes on";\n}', [2, 3]],
    ['in a comment of SQL', 'a.sql', 'SELECT 1\n-- It goes\n-- on.\n', [2]],
    ['not in an option of a script', 'a.sh', 'run --goes on', []],
    ['in HTML', 'a.html', '<p>It goes on.</p>', [1]],
    ['not across two strings', 'a.ts', "log('It goes', 'on a server')", []],
    ['not in code', 'a.ts', 'const goes = on', []],
    ['not in code that a comment quotes', 'a.ts', '// `goes on`', []],
    ['not in the code of Markdown', 'a.md', '`goes on`\n```\nit goes on\n```\n', []],
    ['not in values of YAML', 'a.yml', 'a: it goes on', []],
    ['not in strings of one word', 'a.ts', "f('told')", []],
  ]
  for (const [where, file, text, lines] of cases) {
    test(where, () => {
      assert.deepEqual(
        findPhrases(file, text).map(({ line }) => line),
        lines,
      )
    })
  }
})
