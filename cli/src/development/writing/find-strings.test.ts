import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findStrings } from './find-strings.ts'

const service = 'services/coordinator/src/endpoints/rules.ts'
const command = 'cli/src/commands/rules.ts'

interface Case {
  readonly name: string
  readonly file?: string
  readonly source: string
  /** `kind: text` of each string found. */
  readonly strings: readonly string[]
}

const cases: readonly Case[] = [
  {
    name: 'the message of a failure, with placeholders',
    source: `throw invalidInput(\`Invalid value [\${value}] for [\${field}]: expected \${allowed}\`, { field })`,
    strings: [`error: Invalid value [\${…}] for [\${…}]: expected \${…}`],
  },
  {
    name: 'the second argument of new Failure and the third of refuse',
    source: `new Failure('busy', 'Too many queries'); refuse(field, value, 'a list')`,
    strings: ['error: Too many queries', 'error: a list'],
  },
  {
    name: 'zod messages, and not the values that zod accepts',
    source: `z.enum(['all', 'none'], { error: 'all or none' })`,
    strings: ['error: all or none'],
  },
  {
    name: 'messages of the logger, and not its details',
    source: `context.logger.warn('Load queues are stuck', { server: 'a' }); logger.info('Stopped')`,
    strings: ['log: Load queues are stuck', 'log: Stopped'],
  },
  {
    name: 'summaries and descriptions of a route',
    source: `route({ method: 'GET', path: '/a', summary: 'Rules', answers: [{ description: 'All rules' }] })`,
    strings: ['openapi: Rules', 'openapi: All rules'],
  },
  {
    name: 'help of a command, and not the syntax of its options',
    file: command,
    source: `program.command('get').description('show rules').option('--home <dir>', 'folder of the cluster')
      .argument('<name>', 'datasource').addHelpText('after', 'Examples:')`,
    strings: ['help: show rules', 'help: folder of the cluster', 'help: datasource', 'help: Examples:'],
  },
  {
    name: 'descriptions of properties and metrics, and not their defaults and labels',
    file: 'packages/shared/src/metrics/definitions.ts',
    source: `const all = { a: gauge('1 if ready', ['server'], 'coordinator, overlord'), b: counter('requests', [], 'all') }`,
    strings: ['metric: 1 if ready', 'metric: requests'],
  },
  {
    name: 'what is printed',
    file: command,
    source: `process.stdout.write(\`Wrote \${file}\\n\`); console.log('Done'); tellProgress('reading')`,
    strings: [`output: Wrote \${…}\n`, 'output: Done', 'output: reading'],
  },
  {
    name: 'a string in a variable has the kind of its use',
    source: `const message = isNew ? 'The user is new' : 'The user exists'; throw conflict(message)`,
    strings: ['error: The user is new', 'error: The user exists'],
  },
  {
    name: 'a returned string has the kind of the call of its function',
    source: `const reason = () => 'it has no servers'; function log() { logger.warn(reason()) }`,
    strings: ['log: it has no servers'],
  },
  {
    name: 'an argument has the kind that the function of the same file gives it',
    source: `fail('the name is taken'); function fail(problem: string) { throw conflict(\`No: \${problem}\`) }`,
    strings: ['error: the name is taken', `error: No: \${…}`],
  },
  {
    name: 'other prose has the kind of its file',
    source: `export const steps = ['the first step', 'SELECT a FROM b', 'text/html; charset=utf-8', 'name']`,
    strings: ['answer: the first step'],
  },
  {
    name: 'a sum is one string',
    source: `throw conflict('The user ' + name + ' exists')`,
    strings: [`error: The user \${…} exists`],
  },
  {
    name: 'the arguments of a call in a list of their own',
    file: command,
    source: `const home = ['--home <dir>', 'folder of the cluster'] as const; program.option(...home)`,
    strings: ['help: folder of the cluster'],
  },
  {
    name: 'a sentence of JSX, with its tags and values',
    file: 'console/src/a.tsx',
    source: `const a = <p className="hint lead">
        Loads <b>{count}</b> segments of <Name text={name} />,{' '}
        and <a href="/b">drops them</a>.
      </p>`,
    strings: [`console: Loads \${…} segments of \${…}, and drops them.`],
  },
  {
    name: 'the text of each element of JSX that is not part of a sentence',
    file: 'console/src/a.tsx',
    source: `const a = <label>Datasource <select><option>choose</option></select></label>`,
    strings: ['console: Datasource', 'console: choose'],
  },
  {
    name: 'labels and alternatives in JSX, and not class names',
    file: 'console/src/a.tsx',
    source: `const a = <div className={b ? 'c d' : 'e f'} aria-label="Tables">{b === 'g' ? 'Open' : 'Closed'}</div>`,
    strings: ['console: Tables', 'console: Open', 'console: Closed'],
  },
  {
    name: 'no spaces in JSX',
    file: 'console/src/a.tsx',
    source: `const a = <p className="sentence">&nbsp;</p>`,
    strings: [],
  },
  {
    name: 'no code in strings',
    source: `const a = ["import { b } from 'c'", "frame-ancestors 'none'", "const d = require('e')"]`,
    strings: [],
  },
  {
    name: 'no names for other programs',
    source: `createDatabase(settings, { applicationName: 'exit report' }); app.enable('case sensitive routing')
      const key = hkdfSync('sha256', secret, '', 'caller address', 32); const names = 'now time_floor'.split(' ')`,
    strings: [],
  },
  {
    name: 'no names of plugins of the build',
    file: 'launcher/bundle.mjs',
    source: `const plugin = { name: 'few media types', setup(build) { throw new Error('The file is missing') } }`,
    strings: ['error: The file is missing'],
  },
  {
    name: 'imports, types, comparisons, SQL and endings of words are not listed',
    source: `import a from 'the file'; type B = 'one or two'; if (c === 'not ready') sql\`SELECT the rows\`
      throw conflict(\`\${count} row\${count === 1 ? '' : 's'}\`)`,
    strings: [`error: \${…} row\${…}`],
  },
]

describe('finds', () => {
  for (const { name, file = service, source, strings } of cases) {
    test(name, () => {
      const found = findStrings(file, source).map(({ kind, text }) => `${kind}: ${text}`)
      assert.deepEqual(found, strings)
    })
  }
})

test('reports the line where a string begins', () => {
  const [found] = findStrings(service, '\n\nthrow conflict(\n  `two\nlines`,\n)')
  assert.deepEqual(found, { kind: 'error', line: 4, text: 'two\nlines' })
})

test('finds titles and descriptions in a dashboard', () => {
  const source = '{\n "panels": [{ "title": "Servers", "type": "row", "description": "By tier" }]\n}'
  assert.deepEqual(findStrings('deploy/monitoring/dashboard.json', source), [
    { kind: 'monitoring', line: 2, text: 'Servers' },
    { kind: 'monitoring', line: 2, text: 'By tier' },
  ])
})
