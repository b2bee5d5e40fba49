import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { Failure } from '@svc/domain/failure'
import { parseState } from '../declared-state/index.ts'
import { problemsFailure, readPolicyFile, readStateFiles } from './index.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-yaml-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = path.join(folder, 'state.yaml')

/** The message for a file with this text, without the folder. */
function messageFor(text: string): string {
  writeFileSync(file, text)
  try {
    const files = readStateFiles(file)
    const { problems } = parseState(files)
    if (problems.length > 0) throw problemsFailure(files, problems)
  } catch (error) {
    assert.ok(error instanceof Failure, String(error))
    return error.message.replaceAll(`${folder}/`, '')
  }
  return ''
}

const bomb = Array.from({ length: 20 }, (_, level) =>
  level === 0 ? 'a0: &a0 [x, x]' : `a${level}: &a${level} [*a${level - 1}, *a${level - 1}]`,
).join('\n')
const setBomb = Array.from({ length: 30 }, (_, level) =>
  level === 0
    ? '  s0: [{type: dropForever}, {type: dropForever}]'
    : `  s${level}: [{ruleSet: s${level - 1}}, {ruleSet: s${level - 1}}]`,
).join('\n')

describe('invalid files have one clear message with line and column', () => {
  const cases: [name: string, text: string, expected: RegExp | string][] = [
    [
      'an alias bomb',
      bomb,
      'state.yaml:1:9: Anchors such as [&a0] are not supported: to reuse rules, use [ruleSets]',
    ],
    ['an alias', 'rules:\n  a: *x', /^state\.yaml:2:6: .*(Aliases|alias)/],
    ['an anchor', 'rules: &all {}', /^state\.yaml:1:13: Anchors such as \[&all\] are not supported/],
    ['an anchor of a key', 'rules:\n  &k a: []', /^state\.yaml:2:\d+: Anchors such as \[&k\]/],
    ['a tag', 'rules: !!set {a: null}', /^state\.yaml:1:\d+: Unsupported tag/],
    ['an unknown tag', 'rules: !exec "rm"', /^state\.yaml:1:\d+: Unsupported tag/],
    ['a merge key', 'rules:\n  <<: {a: []}', /^state\.yaml:2:3: Merge keys \[<<\] are not supported/],
    [
      'several documents',
      'rules: {}\n---\nrules: {}',
      /^state\.yaml:3:1: The file contains several documents: expected only one/,
    ],
    ['broken YAML', 'rules: [\n  {type: dropForever}', /^state\.yaml:\d+:\d+: Invalid YAML: /],
    ['a tab', 'rules:\n\ta: []', /^state\.yaml:2:\d+: Invalid YAML: /],
    [
      'a list',
      '- a',
      'state.yaml:1:1: Invalid contents: expected an object with one or more of the fields [ruleSets, rules, compaction, coordinator, authorizers, authenticators, prices]',
    ],
    [
      'an unknown key',
      '# comment\nruls:\n  a: []',
      'state.yaml:2:1: Unknown field [ruls] with value [{"a":[]}]: expected one of [ruleSets, rules, compaction, coordinator, authorizers, authenticators, prices]',
    ],
    [
      'an unknown key below',
      'compaction:\n  datasource: {}',
      'state.yaml:2:3: Unknown field [compaction.datasource] with value [{}]: expected one of [cluster, datasources]',
    ],
    [
      'an empty section',
      'rules:\n',
      'state.yaml:1:1: Invalid value [null] for [rules]: expected an object (write {} for an empty one)',
    ],
    [
      'a duplicate datasource',
      'rules:\n  wiki: []\n  "wiki": []',
      'state.yaml:3:3: Duplicate [wiki]: expected only one',
    ],
    [
      'an invalid value',
      'rules:\n  wiki:\n    - type: loadByPeriod\n      period: P1X\n',
      /^state\.yaml:4:15: Invalid value \[P1X\] for \[rules\.wiki\[0\]\.period\]: expected /,
    ],
    [
      'an unknown field of a rule',
      'rules:\n  wiki:\n    - type: dropForever\n    - {type: loadForever, tieredReplicant: {hot: 1}}',
      /^state\.yaml:4:\d+: Unknown field \[rules\.wiki\[1\]\.tieredReplicant\] with value/,
    ],
    [
      'a missing value',
      'rules:\n  wiki:\n    - type: loadByPeriod\n',
      /^state\.yaml:3:7: Missing value for \[rules\.wiki\[0\]\.period\]: expected /,
    ],
    [
      'names with dots',
      'rules:\n  a: []\n  a.b:\n    - type: x\n',
      /^state\.yaml:4:13: Invalid value \[x\] for \[rules\.a\.b\[0\]\.type\]: expected one of/,
    ],
    [
      'a rule set that refers to itself',
      'ruleSets:\n  a: [{ruleSet: b}]\n  b:\n    - ruleSet: a\n',
      /^state\.yaml:4:16: Invalid value \[a\] for \[ruleSets\.b\[0\]\.ruleSet\]: expected a rule set that does not include itself; \[a\] -> \[b\] -> \[a\]/,
    ],
    [
      'an unknown rule set',
      'ruleSets:\n  hot: []\nrules:\n  wiki:\n    - ruleSet: hott',
      'state.yaml:5:16: Invalid value [hott] for [rules.wiki[0].ruleSet]: expected one of the rule sets [hot]',
    ],
    [
      'another field next to a rule set',
      'ruleSets: {hot: []}\nrules:\n  wiki:\n    - ruleSet: hot\n      period: P1D',
      /^state\.yaml:5:15: Invalid value \[P1D\] for \[rules\.wiki\[0\]\.period\]: expected no fields other than \[ruleSet\]/,
    ],
    [
      'rule sets that multiply',
      `ruleSets:\n${setBomb}`,
      /Too many rules \[\d+\] in \[ruleSets\.s13\[1\]\]: expected at most 10000/,
    ],
    ['infinity', 'coordinator:\n  maxSegmentsToMove: .inf', /^state\.yaml:2:22: Invalid number \[Infinity\]/],
    [
      'an invalid field of the coordinator',
      'coordinator:\n  maxSegmentsToMove: many',
      /^state\.yaml:2:22: Invalid value \[many\] for \[coordinator\.maxSegmentsToMove\]: expected an integer/,
    ],
    [
      'another datasource in a compaction configuration',
      'compaction:\n  datasources:\n    wiki:\n      dataSource: wikipedia',
      'state.yaml:4:19: Invalid value [wikipedia] for [compaction.datasources.wiki.dataSource]: expected [wiki], or no value',
    ],
    [
      'a password',
      'authenticators:\n  basic:\n    users:\n      alice:\n        password: secret',
      'state.yaml:5:19: Invalid value for [authenticators.basic.users.alice.password]: expected an object with [file] or [environment]; YAML files never contain passwords',
    ],
    [
      'a password instead of users',
      'authenticators:\n  basic:\n    users: [secret]',
      'state.yaml:3:5: Invalid value for [authenticators.basic.users]: expected an object (write {} for an empty one)',
    ],
    [
      'two passwords',
      'authenticators:\n  basic:\n    users:\n      alice:\n        password: {file: a, environment: B}',
      /expected either \[file\] or \[environment\]/,
    ],
    [
      'an invalid permission',
      'authorizers:\n  basic:\n    roles:\n      reader:\n        - action: LOOK\n          resource: {type: DATASOURCE, name: a}',
      /^state\.yaml:5:19: Invalid value \[LOOK\] for \[authorizers\.basic\.roles\.reader\[0\]\.action\]: expected one of/,
    ],
    [
      'a control character in a name',
      'rules:\n  "a\\e[2J": []',
      /^state\.yaml:2:3: Invalid value \[a\\u001b\[2J\] for \[.*expected a non-blank datasource name/,
    ],
    [
      'a price that is not a number',
      'prices:\n  perGibMonth:\n    hot: cheap',
      'state.yaml:3:10: Invalid value [cheap] for [prices.perGibMonth.hot]: expected a number from 0 to 1000000',
    ],
    [
      'a cluster without default rules',
      'rules:\n  wiki: []\n  _default: []',
      'state.yaml:3:3: Invalid value [[]] for [rules._default]: expected at least one rule',
    ],
    [
      'default rules that are an empty rule set',
      'ruleSets: {none: []}\nrules:\n  _default: [{ruleSet: none}]',
      /^state\.yaml:3:3: Invalid value \[\[\]\] for \[rules\._default\]: expected at least one rule/,
    ],
    ['a list as a key', 'rules:\n  [a, b]: []', /^state\.yaml:2:3: Invalid key: expected a name/],
  ]
  for (const [name, text, expected] of cases) {
    test(name, () => {
      const message = messageFor(text)
      if (typeof expected === 'string') assert.equal(message.split('\n')[0], expected)
      else assert.match(message, expected)
    })
  }
})

describe('one mistake has one message', () => {
  const cases: [name: string, text: string, expected: RegExp][] = [
    [
      'a rule set that includes itself',
      'ruleSets:\n  a: [{ruleSet: a}]\nrules: {w: [{ruleSet: a}], x: [{ruleSet: a}]}',
      /^state\.yaml:2:17: Invalid value \[a\] for \[ruleSets\.a\[0\]\.ruleSet\]: .*; \[a\] -> \[a\] is a cycle$/,
    ],
    [
      'rule sets that include each other',
      'ruleSets:\n  a: [{ruleSet: b}]\n  b: [{ruleSet: c}]\n  c: [{ruleSet: a}]\n  d: [{ruleSet: b}]\nrules: {w: [{ruleSet: d}]}',
      /^state\.yaml:4:17: .*; \[a\] -> \[b\] -> \[c\] -> \[a\] is a cycle$/,
    ],
    ['rule sets that grow exponentially', `ruleSets:\n${setBomb}`, /^state\.yaml:15:25: Too many rules .*$/],
    [
      'too many rule sets',
      `ruleSets:\n${Array.from({ length: 1001 }, (_, index) => `  s${index}: []`).join('\n')}\nrules: {w: [{ruleSet: s0}]}`,
      /^state\.yaml:1:1: Too many rule sets \[1001\] in \[ruleSets\]: expected at most 1000$/,
    ],
    ['a list instead of an object', '- a', /^state\.yaml:1:1: Invalid contents: .*$/],
    [
      'a name that looks like another message',
      '"rules\\e[31m\\nsvc: Applied": []',
      /^state\.yaml:1:1: Unknown field \[rules\\u001b\[31m\\u000asvc: Applied\].*$/,
    ],
    [
      'a control character in broken YAML',
      'a: "\u001b[31m" "',
      /^state\.yaml:1:\d+: Invalid YAML: \P{Cc}*$/u,
    ],
  ]
  for (const [name, text, expected] of cases) test(name, () => assert.match(messageFor(text), expected))
})

test('very deep and very long files are refused, and many names are not', () => {
  for (const deep of ['['.repeat(20_000), '- '.repeat(10_000), `a: ${'{a: '.repeat(20_000)}`])
    assert.match(messageFor(deep), /^state\.yaml:1:\d+: Values are nested too deeply/)
  assert.match(messageFor(`rules: "${'x'.repeat(17 * 1024 * 1024)}"`), /^state\.yaml:1:1: The file has/)
  const names = Array.from({ length: 10_000 }, (_, index) => `  d${index}: []`).join('\n')
  assert.equal(messageFor(`rules:\n${names}`), '')
})

test('bytes that are not UTF-8 are refused', () => {
  writeFileSync(file, Buffer.from([0x72, 0xff, 0xfe]))
  assert.throws(() => readStateFiles(file), /state\.yaml:1:1: Failed to read the file/)
})

test('the same entry in two files is refused, with both files', () => {
  const two = mkdtempSync(path.join(folder, 'two-'))
  writeFileSync(path.join(two, 'a.yaml'), 'rules:\n  wiki: []\n')
  writeFileSync(path.join(two, 'b.yml'), 'rules:\n  other: []\n  wiki: []\n')
  const files = readStateFiles(two)
  const { message } = problemsFailure(files, parseState(files).problems)
  assert.equal(
    message,
    `${two}/b.yml:3:3: Duplicate [rules.wiki]: expected only one, but another one is in [${two}/a.yaml]`,
  )
})

test('a policy that is not an object is refused', () => {
  for (const text of ['', '- a', 'x']) {
    writeFileSync(file, text)
    assert.throws(
      () => readPolicyFile(file),
      /state\.yaml:1:1: Invalid contents: expected an object with policy limits$/,
    )
  }
})

describe('symbolic links', () => {
  const namesIn = (target: string): string[] =>
    readStateFiles(target).map(({ source }) => path.relative(target, source))

  test('files of a mounted ConfigMap are read once', () => {
    const mount = mkdtempSync(path.join(folder, 'mount-'))
    mkdirSync(path.join(mount, '..2026_11_26'))
    for (const name of ['rules.yaml', 'users.yml']) {
      writeFileSync(path.join(mount, '..2026_11_26', name), '{}')
      symlinkSync(path.join('..data', name), path.join(mount, name))
    }
    symlinkSync('..2026_11_26', path.join(mount, '..data'))
    assert.deepEqual(namesIn(mount), ['rules.yaml', 'users.yml'])
  })

  test('folders are followed, and cycles end', () => {
    const top = mkdtempSync(path.join(folder, 'links-'))
    const shared = mkdtempSync(path.join(folder, 'shared-'))
    writeFileSync(path.join(shared, 'rules.yaml'), '{}')
    symlinkSync(shared, path.join(top, 'a'))
    symlinkSync(shared, path.join(top, 'b'))
    symlinkSync(top, path.join(shared, 'up'))
    symlinkSync('nowhere', path.join(top, 'other.txt'))
    assert.deepEqual(namesIn(top), ['a/rules.yaml'])
  })

  test('a link to a missing file is refused', () => {
    const top = mkdtempSync(path.join(folder, 'dangling-'))
    symlinkSync('nowhere.yaml', path.join(top, 'rules.yaml'))
    assert.throws(
      () => readStateFiles(top),
      /\/rules\.yaml\] is a symbolic link to a file that does not exist/,
    )
  })
})
