import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '@svc/domain/validation'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { editYaml } from './edit-yaml.ts'
import { readYaml } from './read-yaml.ts'

const edit = (text: string, contents: JsonObject): string => editYaml(readYaml(text, 'x'), contents)

describe('edits of a YAML text', () => {
  const rows: [name: string, before: string, contents: JsonObject, after: string][] = [
    [
      'a changed value keeps its comment, its quotes, and everything around it',
      "# top\n\n\na:   'x'   # why\nb: 1\nc: {d: 2, e:  [3]} # other\n",
      { a: 'y', b: 2, c: { d: 2, e: [4] } },
      "# top\n\n\na:   'y'   # why\nb: 2\nc: {d: 2, e:  [4]} # other\n",
    ],
    [
      'a changed field of a rule keeps the comments of the rule',
      'a:\n    # one week\n    - type: x # x\n      period: P7D # y\n    - type: z\n',
      { a: [{ type: 'x', period: 'P8D' }, { type: 'z' }] },
      'a:\n    # one week\n    - type: x # x\n      period: P8D # y\n    - type: z\n',
    ],
    [
      'new entries have the indentation and the line breaks of the file',
      'a:\r\n  b: 1 # b\r\n  # more\r\nc:\r\n- 1\r\n',
      { a: { b: 1, d: { e: [1, { f: 2 }] } }, c: [1, { g: 1 }] },
      'a:\r\n  b: 1 # b\r\n  d:\r\n    e:\r\n    - 1\r\n    - f: 2\r\n  # more\r\nc:\r\n- 1\r\n- g: 1\r\n',
    ],
    [
      'new entries are indented by four spaces if the file is',
      'a:\n    b: 1\nc:\n    - 1\n',
      { a: { b: 1, d: [{ e: { f: 2 } }] }, c: [1] },
      'a:\n    b: 1\n    d:\n        - e:\n              f: 2\nc:\n    - 1\n',
    ],
    [
      'a removed entry takes the comments above it along, but not those of the first entry',
      'a:\n  # all\n  b: 1\n  # about c\n  # and more\n  c: 2 # c\n\n  # about d\n  d: 3\n',
      { a: { d: 3 } },
      'a:\n  # all\n\n  # about d\n  d: 3\n',
    ],
    [
      'an empty value becomes a block, and the last entry of a block leaves an empty value',
      'a: {} # none yet\nb: # some\n  c: 1\nd:\n  - 1\n',
      { a: { x: 1 }, b: {}, d: [] },
      'a: # none yet\n  x: 1\nb: {} # some\nd: []\n',
    ],
    [
      'flow collections stay in their line',
      'a: { b: 1, c: 2,\n  d: 3 }\ne: [1, 2, 3]\nf: {g: 1}\n',
      { a: { c: 2, d: 3, h: [1] }, e: [0, 1, 3], f: { g: { x: 1 } } },
      'a: { c: 2,\n  d: 3, h: [1] }\ne: [0, 1, 3]\nf: {g: {x: 1}}\n',
    ],
    [
      'items are inserted above the comments of the following ones',
      'a:\n  # first\n  - 1\n  # second\n  - 2',
      { a: [0, 1, 1.5, 2, 3] },
      'a:\n  - 0\n  # first\n  - 1\n  - 1.5\n  # second\n  - 2\n  - 3\n',
    ],
    [
      'a missing value becomes a value',
      'a: # none\nb:\n',
      { a: 'x: y', b: ['z'] },
      'a: "x: y" # none\nb:\n  - z\n',
    ],
    [
      'lists in lists are replaced as a whole',
      '# top\na:\n    - - 1\n      - 2\n    # two\n    - 3\n',
      { a: [[0, 1, 2], 3] },
      '# top\na:\n    - - 0\n      - 1\n      - 2\n    # two\n    - 3\n',
    ],
    [
      'an unusual layout keeps its comments, but not its indentation',
      '# top\na: |\n    x\n# about b\nb:\n    - 1 # one\n',
      { a: 'y', b: [1] },
      '# top\na: y\n# about b\nb:\n  - 1 # one\n',
    ],
  ]
  for (const [name, before, contents, after] of rows)
    test(name, () => {
      const text = edit(before, contents)
      assert.deepEqual(readYaml(text, 'x').json, contents)
      assert.equal(text, after)
    })
})

const scalar = fc.oneof(
  fc.integer({ min: 0, max: 9 }),
  fc.boolean(),
  fc.constantFrom(null, 'x', 'P1D', 'a: b', '# c', '', "it's", 'two\nlines', '2024', '- x', '[', '*a'),
)
const { value: anyValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('type', 'period', 'a.b', '7', 'null', 'x y'), tie('value'), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
}))

/** An entry as a person may write it. */
interface WrittenEntry {
  readonly name: string
  readonly value: unknown
  readonly style: { readonly flow: boolean; readonly indent: number; readonly indentSeq: boolean }
  readonly comment: string
  readonly above: readonly string[]
}

const styledEntries = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('wiki', 'a.b', 'c', '2024', 'd', 'e-f', 'g'),
    value: anyValue,
    style: fc.record({ flow: fc.boolean(), indent: fc.constantFrom(2, 3, 4), indentSeq: fc.boolean() }),
    comment: fc.constantFrom('', ' # why', '   #'),
    above: fc.array(fc.constantFrom('', '  # about it', '  #- a: b', '# far left'), { maxLength: 2 }),
  }),
  { selector: ({ name }) => name, minLength: 1, maxLength: 5 },
)

/** The lines of an entry, without what is above it. */
function linesOf({ name, value, style: { flow, indent, indentSeq }, comment }: WrittenEntry): string {
  const options = { indent, indentSeq, lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE' as const }
  const text = stringify(
    { [name]: value },
    { ...options, ...(flow ? { collectionStyle: 'flow' as const } : {}), defaultKeyType: 'PLAIN' },
  )
  const [first, ...rest] = (flow ? text.replace(/^\{ |\}\n?$/gs, '').trimEnd() : text.trimEnd()).split('\n')
  const lines = [rest.length === 0 ? `${first}${comment}` : first, ...rest]
  return lines.map((line) => `  ${line}`).join('\n')
}

test('what stays the same is kept byte for byte, whatever else changes', () => {
  fc.assert(
    fc.property(
      styledEntries,
      fc.dictionary(
        fc.constantFrom('wiki', 'c', '2024', 'd', 'new', 'other'),
        fc.option(anyValue, { nil: undefined }),
        { noNullPrototype: true },
      ),
      fc.constantFrom('\n', '\r\n'),
      (entries, changes, lineBreak) => {
        const withBreaks = (text: string): string => text.replaceAll('\n', lineBreak)
        const blocks = entries.map((entry) => [...entry.above, linesOf(entry)].join('\n'))
        const text = withBreaks(`# top\n\nrules:\n${blocks.join('\n')}\n\nlast:    1 # end\n`)
        const { json } = readYaml(text, 'x') as { json: { rules: JsonObject; last: number } }
        assert.deepEqual(json.rules, Object.fromEntries(entries.map(({ name, value }) => [name, value])))
        const changed = { ...json.rules, ...changes }
        const rules = Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined))
        const edited = edit(text, { ...json, rules })
        assert.deepEqual(readYaml(edited, 'x').json, { ...json, rules })
        let from = edited.startsWith(withBreaks('# top\n\nrules:')) ? 0 : -1
        for (const entry of entries) {
          if (Object.hasOwn(changes, entry.name)) continue
          from = edited.indexOf(withBreaks(`\n${linesOf(entry)}\n`), from)
          assert.ok(from >= 0, `${entry.name} in ${edited}`)
        }
        assert.ok(edited.endsWith(withBreaks('\nlast:    1 # end\n')))
        assert.ok(lineBreak === '\n' || !/[^\r]\n/.test(edited))
      },
    ),
    { numRuns: 100 },
  )
})
