// The console without a cluster, in Chromium: ./svc console with a snapshot, and the page as static files.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { httpRequest } from '@svc/shared/testing'
import type { Browser, Page } from 'playwright-core'
import { chromiumFile } from '../support/find-on-path.ts'
import { firstOutput } from '../support/first-output.ts'
import { runSvc, svcCommand } from '../support/svc-command.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { type ConsolePage, isFocused, openBrowser, openPage } from './open-browser.ts'
import { writeSampleInventory } from './sample-inventory.ts'

const skip = chromiumFile === undefined && 'Chromium is not on PATH (Debian: apt-get install chromium)'
const pictures = path.join(repositoryRoot, 'docs/console')

/** Serves a folder as any web server would, and records which paths were requested. */
async function serveFolder(folder: string): Promise<{ server: Server; url: string; requests: string[] }> {
  const requests: string[] = []
  const types: Readonly<Record<string, string>> = {
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.svg': 'image/svg+xml',
  }
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://localhost')
    requests.push(`${request.method} ${request.url}`)
    const file = path.join(folder, pathname.replace('/team/rules/', '') || 'index.html')
    try {
      const content = readFileSync(file)
      response
        .writeHead(200, { 'Content-Type': types[path.extname(file)] ?? 'application/json' })
        .end(content)
    } catch {
      response.writeHead(404).end()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/team/rules/`, requests }
}

/** Returns the status of a path for a request that names a host. */
const statusOf = async (url: string, path: string, host: string): Promise<number> =>
  (await httpRequest(Number(new URL(url).port), { path, headers: { host } })).status

describe('the console without a cluster', { skip }, () => {
  const snapshot = newTestFolder()
  const site = newTestFolder()
  let browser: Browser
  let dark: ConsolePage
  let page: Page
  let served: Awaited<ReturnType<typeof serveFolder>>
  let command: ChildProcess | undefined

  const draw = async (of: Page, name: string): Promise<void> => {
    if (process.env.SVC_DOCS_UPDATE === '1') await of.screenshot({ path: path.join(pictures, `${name}.png`) })
  }
  const filesOfSnapshot = () => readdirSync(snapshot).map((name) => path.join(snapshot, name))
  const openWikipedia = async (of: Page) => {
    await of.getByRole('link', { name: 'Datasources', exact: true }).click()
    await of.getByRole('link', { name: 'wikipedia', exact: true }).click()
    await of.getByRole('region', { name: 'Timeline' }).waitFor()
  }

  before(async () => {
    writeSampleInventory(snapshot)
    const written = spawn(svcCommand, ['console', '--write', path.join(site, 'page')], { stdio: 'inherit' })
    assert.deepEqual(await once(written, 'exit'), [0, null])
    served = await serveFolder(path.join(site, 'page'))
    browser = await openBrowser()
    dark = await openPage(browser)
    page = dark.page
  })
  after(async () => {
    command?.kill()
    await browser?.close()
    served?.server.closeAllConnections()
    served?.server.close()
    removeTestFolder(snapshot)
    removeTestFolder(site)
  })
  afterEach(() => {
    assert.deepEqual(dark.problems.splice(0), [])
  })

  test('asks for a snapshot, and says what is wrong with one', async () => {
    await page.goto(served.url)
    await page.getByRole('heading', { name: 'Rehearse rules on a snapshot' }).waitFor()
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'choose-snapshot')
    const isNeeded = (name: string) => !name.endsWith('servers.json')
    await page.getByLabel('Choose files').setInputFiles(filesOfSnapshot().filter(isNeeded))
    await page.getByText('Missing file [servers.json]').waitFor()
    const broken = path.join(site, 'rules.json')
    writeFileSync(broken, '{')
    await page
      .getByLabel('Choose files')
      .setInputFiles([...filesOfSnapshot().filter((name) => !name.endsWith('rules.json')), broken])
    await page.getByText('Invalid file [rules.json]: expected JSON').waitFor()
  })

  test('is opened with the keyboard alone', async () => {
    const choosing = page.waitForEvent('filechooser')
    const input = page.getByLabel('Choose files')
    for (let presses = 0; !(await input.evaluate(isFocused)); presses += 1) {
      assert.ok(presses < 20, 'Tab does not reach the field for files')
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Space')
    await (await choosing).setFiles(filesOfSnapshot())
    await page.getByText(/5 datasources/).waitFor()
    await page.getByRole('button', { name: 'Open another' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Rehearse rules on a snapshot' }).waitFor()
  })

  test('refuses an export with a truncated or changed file', async () => {
    const exported = path.join(site, 'exported')
    const { status, stderr } = await runSvc('export', exported, '--from', snapshot)
    assert.equal(status, 0, stderr)
    const segments = path.join(exported, 'segments.jsonl')
    const complete = readFileSync(segments, 'utf8')
    const lines = complete.split('\n')
    const choose = async () =>
      await page
        .getByLabel('Choose files')
        .setInputFiles(readdirSync(exported).map((name) => path.join(exported, name)))
    writeFileSync(segments, lines.slice(0, 50).join('\n'))
    await choose()
    await page.getByText(/\[segments\.jsonl\] is \[\d+\] bytes long: expected \[\d+\]/).waitFor()
    writeFileSync(segments, complete.replace('wikipedia', 'wikipedio'))
    await choose()
    await page.getByText('[segments.jsonl] was changed').waitFor()
    assert.deepEqual(await dark.findings(), [])
    await page.goto('about:blank')
    await page.goto(served.url)
    writeFileSync(segments, complete)
    await choose()
    await page.getByText(/5 datasources/).waitFor()
    await page.getByRole('button', { name: 'Open another' }).click()
  })

  test('opens files that were saved from the API, and sends nothing', async () => {
    const before = served.requests.length
    await page.getByLabel('Choose files').setInputFiles(filesOfSnapshot())
    await page.getByText(/5 datasources/).waitFor()
    await page.getByText('the console assumes that replicas are where the rules require them').waitFor()
    assert.deepEqual(await dark.findings(), [])
    await page.getByRole('link', { name: 'Tiers', exact: true }).click()
    await page.getByRole('article', { name: 'hot-1.example:8083' }).waitFor()
    await openWikipedia(page)
    await page.getByText('780 segments').waitFor()
    await page.getByText('Nothing: every replica is where the rules require it.').waitFor()
    const isPage = (request: string) => /^GET \/team\/rules\/assets\/[\w-]+\.(js|css|svg)$/.test(request)
    assert.deepEqual(
      served.requests.slice(before).filter((request) => !isPage(request)),
      [],
    )
  })

  test('previews what happens if servers fail, are drained, or are added', async () => {
    await page.getByRole('link', { name: 'Tiers', exact: true }).click()
    const whatIf = page.getByRole('region', { name: 'What if' })
    const tier = (name: string) => whatIf.getByRole('row', { name: new RegExp(`^${name} `) })
    await tier('cold').getByText('not within a year').waitFor()
    await page.getByRole('button', { name: 'fails: cold-1.example:8083' }).click()
    await whatIf.getByText('What if cold-1.example:8083 fails?').waitFor()
    await whatIf.getByText(/\d+ segments cannot be queried until other servers have loaded them/).waitFor()
    await tier('cold').getByText('2 → 1').waitFor()
    await page.getByRole('button', { name: 'fails: cold-2.example:8083' }).click()
    await whatIf
      .getByText(
        /\d+ segments cannot be queried anymore: no other server can load them. cold has no other servers/,
      )
      .waitFor()
    assert.equal(await whatIf.getByText('No server needs to load anything.').count(), 0)
    await page.getByRole('button', { name: 'fails: cold-2.example:8083' }).click()
    await page.getByRole('button', { name: 'is drained: cold-1.example:8083' }).click()
    await page.locator('.card.assumed', { hasText: 'cold-1.example:8083' }).waitFor()
    await whatIf.getByText('What if cold-1.example:8083 is drained?').waitFor()
    await whatIf.getByText(/cannot be queried/).waitFor({ state: 'detached' })
    await whatIf.getByText(/^The servers load \d+ replicas/).waitFor()
    await whatIf.getByLabel('Tier of the servers').selectOption('hot')
    await whatIf.getByLabel('Number of servers to add').fill('2')
    await whatIf.getByRole('button', { name: 'Preview' }).click()
    await tier('hot').getByText('3 → 5').waitFor()
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'what-if')
    await whatIf.getByRole('button', { name: 'Discard' }).click()
    await tier('hot').getByText('3 → 5').waitFor({ state: 'detached' })
    await openWikipedia(page)
  })

  test('shows a thousand servers with long names at a glance, in the order of their numbers', async () => {
    const host = (tier: string, number: number): string =>
      `${tier}-${number}.ec2.eu-central-1.compute.internal.example:8083`
    const counts = { cold: 500, _default_tier: 400, hot: 100 }
    const servers = Object.entries(counts).flatMap(([tier, count]) =>
      Array.from({ length: count }, (_, index) => ({
        host: host(tier, index + 1),
        tier,
        type: 'historical',
        maxSize: 1e8 + (index % 5) * 6e7,
      })),
    )
    const many = path.join(site, 'servers.json')
    writeFileSync(many, JSON.stringify(servers))
    const other = await openPage(browser)
    await other.page.goto(served.url)
    await other.page
      .getByLabel('Choose files')
      .setInputFiles([...filesOfSnapshot().filter((name) => !name.endsWith('servers.json')), many])
    await other.page.getByRole('link', { name: 'Tiers', exact: true }).click()
    const cards = other.page.getByRole('article')
    await cards.first().waitFor()
    const names = await cards.evaluateAll((all: { ariaLabel: string }[]) => all.map((one) => one.ariaLabel))
    assert.deepEqual(
      names,
      names.map((_, index) => host('_default_tier', index + 1)),
    )
    const overflowing = (await cards.evaluateAll(
      (all: { scrollWidth: number; clientWidth: number }[]) =>
        all.filter((one) => one.scrollWidth > one.clientWidth).length,
    )) as number
    assert.equal(overflowing, 0)
    const map = other.page.getByRole('group', { name: 'Map of 1000 servers' })
    await map.focus()
    for (const key of ['ArrowDown', 'ArrowRight', 'ArrowDown']) await other.page.keyboard.press(key)
    const found = await other.page.locator('.card.found').getAttribute('aria-label')
    await other.page.getByRole('status').getByText(found!).waitFor()
    // A shape for each color instead of one for each server, so that many servers are drawn and sorted quickly.
    assert.ok((await map.locator('path').count()) <= 10)
    await other.page.getByRole('heading', { level: 1 }).scrollIntoViewIfNeeded()
    await draw(other.page, 'servers')
    assert.deepEqual(await other.findings(), [])
    assert.deepEqual(other.problems, [])
    await other.context.close()
  })

  test('shows data of any year, tiers with long names, and all of time, in a window of 1280 pixels', async () => {
    const segmentsOf = (dataSource: string, month: string) =>
      Array.from({ length: 8 }, (_, day) => ({
        dataSource,
        interval: `${month}-0${day + 1}T00:00:00.000Z/${month}-0${day + 2}T00:00:00.000Z`,
        version: 'v1',
        shardSpec: { type: 'numbered', partitionNum: 0, partitions: 1 },
        size: 1_000_000,
      }))
    const tier = `tier-${'with-a-long-name-'.repeat(8)}`
    const hostile = {
      // Microseconds that were ingested as milliseconds, and an offset with the wrong sign.
      'segments.json': [...segmentsOf('later', '52000-01'), ...segmentsOf('earlier', '-0044-03')],
      'servers.json': [tier, '_default_tier'].map((name) => ({
        host: `${name}.example:8083`,
        tier: name,
        type: 'historical',
        maxSize: 10_737_418_240,
      })),
      'rules.json': { _default: [{ type: 'loadForever', tieredReplicants: { [tier]: 1 } }] },
    }
    const folder = newTestFolder()
    const files = Object.entries(hostile).map(([name, content]) => {
      writeFileSync(path.join(folder, name), JSON.stringify(content))
      return path.join(folder, name)
    })
    const other = await openPage(browser)
    await other.page.setViewportSize({ width: 1280, height: 800 })
    await other.page.goto(served.url)
    await other.page.getByLabel('Choose files').setInputFiles(files)
    const width = () => other.page.evaluate('document.documentElement.scrollWidth') as Promise<number>
    for (const [name, year] of [
      ['later', '52000'],
      ['earlier', '-0044'],
    ] as const) {
      await other.page.getByRole('link', { name: 'Datasources', exact: true }).click()
      await other.page.getByRole('link', { name, exact: true }).click()
      await other.page.getByText(/^8 segments · 8.0 MB · 1 tier$/).waitFor()
      await other.page
        .locator('.axis text', { hasText: `${year}-` })
        .first()
        .waitFor()
      assert.ok((await width()) <= 1280, `${await width()} pixels`)
      await other.page.getByRole('group', { name: /Time axis/ }).focus()
      for (let times = 0; times < 50; times += 1) await other.page.keyboard.press('-')
      await other.page.getByRole('heading', { name: /^Data by [\d,]{7,} days$/ }).waitFor()
      assert.ok((await other.page.locator('.axis text').count()) > 2)
      await other.page.keyboard.press('0')
    }
    await other.page.getByRole('link', { name: 'Tiers', exact: true }).click()
    assert.equal(await other.page.getByLabel('Size of each server, in GB').inputValue(), '10.74')
    assert.ok((await width()) <= 1280, `${await width()} pixels`)
    assert.deepEqual(other.problems, [])
    await other.context.close()
    removeTestFolder(folder)
  })

  test('works in a browser that stores nothing, or something else', async () => {
    for (const script of [
      `Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError') } })`,
      `if (!sessionStorage.theme) sessionStorage.theme = localStorage.theme = 'blue'`,
    ]) {
      const other = await openPage(browser, 'light')
      await other.page.addInitScript(script)
      await other.page.goto(served.url)
      await other.page.getByRole('heading', { name: 'Rehearse rules on a snapshot' }).waitFor()
      await other.page.locator('[data-theme=light]').waitFor()
      await other.page.getByRole('button', { name: 'Dark', exact: true }).click()
      await other.page.locator('[data-theme=dark]').waitFor()
      assert.deepEqual(other.problems, [])
      await other.context.close()
    }
  })

  test('zooms when the pointer is dragged past the end of the axis, and replaces typed numbers', async () => {
    const box = (await page.locator('.timeline svg').boundingBox())!
    await page.mouse.move(box.x + box.width - 100, box.y + 40)
    await page.mouse.down()
    for (const x of [box.x + box.width - 10, box.x + box.width + 60]) await page.mouse.move(x, box.y + 50)
    await page.mouse.up()
    const showAll = page.getByRole('button', { name: 'Show all data' })
    assert.ok(await showAll.isEnabled())
    await showAll.click()
    await page.getByRole('button', { name: /Load by period P7D/ }).click()
    const replicas = page.getByLabel('hot', { exact: true })
    await replicas.press('End')
    await replicas.press('Backspace')
    await replicas.press('3')
    assert.equal(await replicas.inputValue(), '3')
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('button', { name: /Load by period P7D/ }).click()
  })

  test('names the rule that applies to the segments under the cursor', async () => {
    await page.getByRole('group', { name: /Time axis/ }).focus()
    await page.keyboard.press('End')
    await page.getByText('rule 0 hot ×2 applies').waitFor()
  })

  test('separates the losses of an edit in the future from those of the current rules', async () => {
    await page.getByRole('button', { name: /Load by period P13M/ }).click()
    await page.getByLabel(/^Period/).fill('P1Y')
    for (let month = 0; month < 3; month += 1) await page.getByRole('button', { name: '+1 month' }).click()
    await page.getByText(/^\d+ days become unqueryable/).waitFor()
    await page.getByText(/^With or without the edit, \d+ days are unqueryable/).waitFor()
    // A longer period loses nothing more than the current rules do.
    await page.getByLabel(/^Period/).fill('P14M')
    await page.getByText(/days become unqueryable/).waitFor({ state: 'detached' })
    await page.getByText(/^With or without the edit, \d+ days are unqueryable/).waitFor()
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.getByRole('button', { name: /Load by period P13M/ }).click()
  })

  test('previews an edit, and shares it as a link that never reaches a server', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: /Load by period P13M/ }).click()
    await page.getByLabel(/^Period/).fill('P1Y')
    await page.getByText(/days become unqueryable/).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Apply' }).count(), 0)
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'snapshot')
    await page.getByRole('button', { name: 'Copy link' }).click()
    await page.getByText('Copied').waitFor()
    const link = (await page.evaluate('navigator.clipboard.readText()')) as string
    assert.ok(link.startsWith(`${served.url}#/datasources/wikipedia;rules=`), link)
    const other = await openPage(browser, 'light')
    await other.page.goto(link)
    await other.page.getByLabel('Choose files').setInputFiles(filesOfSnapshot())
    await other.page.getByText('was P13M').waitFor()
    await other.page.getByText(/days become unqueryable/).waitFor()
    assert.deepEqual(await other.findings(), [])
    // A damaged link that is opened in the same tab changes nothing.
    await other.page.goto(`${link.slice(0, -9)}%%%`)
    await other.page.getByText('This link does not contain valid rules').waitFor()
    assert.deepEqual(other.problems, [])
    assert.ok(served.requests.every((request) => !request.includes('rules=')))
    await other.context.close()
  })

  test('places the replicas of an edit where a tier has too little space', async () => {
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /Load by period P7D/ }).click()
    await page.getByLabel(/^Period/).fill('P2Y')
    await page.getByText('was P7D').waitFor()
    // Until its replicas are placed, all of them fit.
    await page.getByRole('row', { name: /^hot .* will not fit/ }).waitFor()
    await page.getByText('Checking whether all replicas fit').waitFor({ state: 'detached' })
    assert.match((await page.locator('.figures').textContent())!, /Does not fit[1-9]\d* segments/)
    assert.deepEqual(await dark.findings(), [])
    // The first one leaves the field, and the second one discards the edit.
    for (let press = 0; press < 2; press += 1) await page.keyboard.press('Escape')
    await page.getByText('The edit was discarded.').waitFor()
  })

  test('explains segments, previews the future, and opens another snapshot', async () => {
    await page.getByRole('group', { name: /Time axis/ }).focus()
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await page
      .getByText(/Rule 0 applies\. hot: 2 of 2 served/)
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: '+1 month' }).click()
    await page.getByText(/days become unqueryable/).waitFor()
    await page.getByRole('button', { name: 'Open another' }).click()
    await page.getByRole('heading', { name: 'Rehearse rules on a snapshot' }).waitFor()
  })

  test('./svc console opens a snapshot on a port of this machine', async () => {
    command = spawn(svcCommand, ['console', snapshot, '--port', '0'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const printed = await firstOutput(command)
    const url = /http:\S+/.exec(printed)![0]
    await page.goto(url)
    await page.getByText(/5 datasources/).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Open another' }).count(), 0)
    await openWikipedia(page)
    await page.getByText('780 segments').waitFor()
    const rules = '/console/snapshot/rules.json'
    assert.equal(await statusOf(url, rules, 'evil.example'), 403)
    assert.equal(await statusOf(url, rules, '127.0.0.1:1'), 200)
    writeFileSync(path.join(snapshot, 'secret.json'), '{}')
    for (const outside of [
      '/console/snapshot/secret.json',
      '/console/snapshot/../../package.json',
      '/console/snapshot/%2e%2e/%2e%2e/package.json',
      '/console/snapshot/..%2f..%2fpackage.json',
      '/console/snapshot/..\\..\\package.json',
      '/console/assets/../../package.json',
      '/console/assets/..%2f..%2fpackage.json',
      '/../../../../../../etc/hostname',
    ])
      assert.equal(await statusOf(url, outside, '127.0.0.1'), 404, outside)
    command.kill('SIGINT')
    await once(command, 'exit')
    command = undefined
  })
})
