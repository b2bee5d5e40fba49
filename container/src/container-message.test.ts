import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { bundleOf } from '@svc/cli/bundles'
import { pickPortOffset, type StartOptions, startCluster } from '@svc/cli/cluster'
import { findRedis } from '@svc/cli/redis'
import { setPath } from '@svc/shared/testing'
import { containerMessage } from './container-message.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-container-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** The message for the container about a cluster that cannot start. */
async function messageOf(
  options: Omit<StartOptions, 'home'>,
  home = path.join(folder, 'home'),
): Promise<string> {
  try {
    const cluster = await startCluster({ ...options, home })
    await cluster.stop()
  } catch (error) {
    return containerMessage((error as Error).message)
  }
  return assert.fail('The cluster started')
}

const invalid: { name: string; options: Omit<StartOptions, 'home'>; message: RegExp }[] = [
  { name: 'tiers', options: { historicals: 'hot=x' }, message: /\[SVC_HISTORICALS\]: expected/ },
  { name: 'instances', options: { instances: 'router=x' }, message: /\[SVC_INSTANCES\]: expected/ },
  { name: 'a profile', options: { profile: 'x' }, message: /^Invalid value \[x\] for \[SVC_PROFILE\]/ },
  {
    name: 'a password',
    options: { adminPassword: ' ' },
    message: /^Invalid value for \[SVC_ADMIN_PASSWORD\]/,
  },
]

for (const { name, options, message } of invalid) {
  test(`names the variable with ${name}`, async () => {
    const text = await messageOf(options)
    assert.match(text, message)
    assert.doesNotMatch(text, /--/)
  })
}

// Messages about options that a container does not have.
const otherOptions = /--ldap|\[--set\]|\[--port-offset\]|Could not find a --port-offset|managed by \.\/svc/

test('removes command-line options from messages about starting a cluster', () => {
  const files =
    /^cli\/src\/(cluster\/(admin-password|free-ports|options|plan-cluster|prepare-home|start-cluster)|home\/(lock|open-home|storage-failure)|postgres\/.*|redis\/.*)\.ts$/
  const list = execFileSync(process.execPath, [bundleOf('svc'), 'dev', 'strings', '--json'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 25,
  })
  const texts = (JSON.parse(list) as { readonly file: string; readonly text: string }[])
    .filter(({ file, text }) => files.test(file) && /--[a-z]|\bsvc (down|password|reset)\b/.test(text))
    .map(({ text }) => text.replace(/(svc (?:down|password|reset|up))\$\{…\}/g, '$1 --home /data'))
    .map((text) => text.replace(/\$\{…\}/g, '1'))
    .filter((text) => !otherOptions.test(text))
  assert.ok(texts.length > 15, `only ${texts.length} messages`)
  assert.deepEqual(
    texts.map(containerMessage).filter((text) => /--[a-z]|\.\/svc/.test(text)),
    [],
  )
})

test('names the volume of the home', async () => {
  const home = path.join(folder, 'used')
  mkdirSync(home)
  writeFileSync(path.join(home, 'file'), '')
  assert.equal(
    await messageOf({}, home),
    `Folder [${home}] is not empty and is not an svc home. Mount another volume at [/data].`,
  )
  const file = path.join(folder, 'used/file')
  assert.equal(
    await messageOf({}, file),
    `Home [${file}] is a file, not a folder. Mount another volume at [/data].`,
  )
})

test('says that the image must have a Redis server', async (context) => {
  setPath(context, folder)
  const missing = findRedis({ searchPath: folder, cacheFolder: folder })
  await assert.rejects(missing, ({ message }: Error) => {
    assert.match(
      containerMessage(message),
      /^No Redis server 6\.2 or newer found: .*\. Use an image that has valkey-server or redis-server on PATH$/,
    )
    return true
  })
})

test('does not recommend other ports, because the ports in a container are fixed', async (context) => {
  const portOffset = await pickPortOffset()
  const blocker = createServer().listen(8083 + portOffset, '127.0.0.1')
  context.after(() => blocker.close())
  assert.match(
    await messageOf({ portOffset, profile: 'plain' }),
    /^Port already in use: \d+ \(historical-1\)\. Stop the process that uses it, or run the container in its own network\.$/,
  )
})
