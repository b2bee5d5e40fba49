import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { readSnapshot } from './snapshot-files.ts'

const server = { host: 'a:8083', tier: 'hot', type: 'historical', priority: 0, currSize: 0, maxSize: 10e9 }
const segment = {
  dataSource: 'wiki',
  interval: '2026-01-01T00:00:00.000Z/2026-01-02T00:00:00.000Z',
  version: 'v1',
  size: 100,
}
const rules = { _default: [{ type: 'loadForever', tieredReplicants: { hot: 1 } }] }

type Content = string | Uint8Array<ArrayBuffer>
const text = (content: unknown): string => JSON.stringify(content)

/** Opens a snapshot with one server and one segment, of which some files are replaced. */
async function open(replaced: Readonly<Record<string, Content | undefined>>) {
  const contents = {
    'servers.json': text([server]),
    'rules.json': text(rules),
    'segments.json': text([segment]),
    ...replaced,
  }
  const files = Object.entries(contents).flatMap(([name, content]) =>
    content === undefined ? [] : [new File([content], name)],
  )
  return await readSnapshot({ files, name: 'saved' }, Date.UTC(2026, 1, 1))
}

const gzipped = (content: unknown) => new Uint8Array(gzipSync(text(content)))
const full = { name: 'wiki', properties: {}, segments: [segment] }

describe('files that were saved from Druid', () => {
  const readable: Readonly<Record<string, Readonly<Record<string, Content | undefined>>>> = {
    'servers with their segments': { 'servers.json': text([{ ...server, segments: { x: segment } }]) },
    'an unlimited server': { 'servers.json': text([server]).replace('10000000000', '9223372036854775807') },
    'brokers and tasks': { 'servers.json': text([server, { ...server, host: 'b', type: 'broker' }]) },
    'rules of datasources only': { 'rules.json': text({ wiki: rules._default }) },
    'a datasource with its segments': { 'segments.json': text(full) },
    'datasources with their segments': { 'segments.json': text([full]) },
    'a byte order mark': {
      'rules.json': `\ufeff${text(rules)}`,
      'segments.json': `\ufeff${text([segment])}`,
    },
    'UTF-16': { 'rules.json': new Uint8Array(Buffer.from(`\ufeff${text(rules)}`, 'utf16le')) },
    'gzip compression': { 'rules.json': gzipped(rules), 'segments.json': gzipped([segment]) },
    'compressed files': { 'segments.json': undefined, 'segments.json.gz': gzipped([segment]) },
  }
  for (const [name, files] of Object.entries(readable))
    it(`may contain ${name}`, async () => {
      const { opened } = await open(files)
      assert.deepEqual(opened, {
        name: 'saved',
        segments: 1,
        servers: 1,
        hasPlacement: false,
        problemCount: 0,
        problems: [],
      })
    })

  const refused: readonly (readonly [string, Content, RegExp])[] = [
    ['servers.json', text(['a:8083']), /^Invalid file \[servers.json\]: no server is readable\. .*simple/],
    ['servers.json', text({ servers: [] }), /^Invalid file \[servers.json\]: .*expected a list of servers$/],
    ['rules.json', text(rules._default), /^Invalid file \[rules.json\]: .*expected a JSON object$/],
    ['segments.json', text(['wiki_2026']), /^Invalid file \[segments.json\]: no segment is readable\. /],
    ['segments.json', text([{ ...segment, size: null }]), /: Invalid value \[null\] for \[size\]/],
    ['segments.json', text({ error: 'Unauthorized' }), /^Invalid file \[segments.json\]: expected a list/],
    ['segments.json', '<html>', /^Invalid file \[segments.json\]: expected JSON/],
    [
      'segments.json',
      gzipped(Array(100).fill(segment)).slice(0, 60),
      /^Invalid file \[segments.json\]: its gzip compression is truncated or damaged$/,
    ],
  ]
  for (const [name, content, message] of refused)
    it(`are refused with a message such as ${message.source}`, async () => {
      await assert.rejects(open({ [name]: content }), { name: 'Failure', message })
    })

  it('may contain unreadable segments next to readable ones', async () => {
    const { opened } = await open({ 'segments.json': text([null, segment, { ...segment, size: -1 }]) })
    assert.equal(opened.segments, 1)
    assert.equal(opened.problemCount, 2)
  })
})
