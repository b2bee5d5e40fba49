// Druid's web console works unchanged with svc.api.aliases=["druid"]. Its files come from Maven, Chromium opens
// its pages, and the router of a cluster with logins and TLS serves all its requests.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { repositoryRoot } from '@svc/cli/home'
import { waitUntil } from '@svc/shared/testing'
import { type Browser, chromium, type Locator, type Page } from 'playwright-core'
import { chromiumFile } from '../support/find-on-path.ts'
import { flights, flightsTask, runTask } from '../support/flights.ts'
import { storedSegments } from '../support/segments.ts'
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts'
import { untilLoaded } from '../support/until-loaded.ts'
import { type ConsoleServer, startConsoleServer } from './druid-console-server.ts'

const run = promisify(execFile)
const { dataSource } = flights
// The last version that was published as a separate package.
const artifact = 'org.apache.druid:druid-console:24.0.1'
const unpacked = path.join(repositoryRoot, '.cache/interop/console')

/** Paths that the console requests to detect optional features, which it shows as unavailable. */
const mayBeAbsent = [
  /^\/druid\/v2\/sql\/task\/enabled$/,
  /^\/druid\/coordinator\/v1\/lookups\//,
  // The list of examples, which is on an external server.
  /^\/druid\/indexer\/v1\/sampler$/,
]

async function fetchConsole(): Promise<string> {
  const options = [`-Dartifact=${artifact}`, `-DoutputDirectory=${unpacked}`]
  const project = path.join(import.meta.dirname, 'pom.xml')
  await run('mvn', ['-q', '-B', '-f', project, 'dependency:unpack', ...options], {
    timeout: 10 * 60_000,
  }).catch((error: { stdout?: string }) => assert.fail(`Maven: ${error.stdout?.slice(0, 2000)}`))
  return path.join(unpacked, 'org/apache/druid/console')
}

const skip = chromiumFile === undefined && 'Chromium is not on PATH'

describe("Druid's web console", { skip }, () => {
  let cluster: TestCluster
  let server: ConsoleServer
  let browser: Browser
  let page: Page
  /** Errors since the last test. */
  let problems: string[] = []

  before(async () => {
    const folder = await fetchConsole()
    cluster = await startTestCluster({
      historicals: '_default_tier=2',
      set: ['svc.api.aliases=["druid"]', 'coordinator.svc.coordinator.period=PT1S'],
    })
    server = await startConsoleServer({
      folder,
      router: cluster.urls.router!,
      trusted: cluster.trusted,
      credentials: `admin:${cluster.adminPassword}`,
    })
    await runTask(cluster.router, flightsTask({ segmentGranularity: 'MONTH' }))
    await untilLoaded(cluster.router)
    // Chromium has no sandbox for root, and the shared memory of a container is small.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']
    browser = await chromium.launch({ executablePath: chromiumFile!, args, timeout: 120_000 })
    page = await browser.newPage({ viewport: { width: 1600, height: 1200 } })
    page.setDefaultTimeout(30_000)
    page.on('pageerror', (error) => problems.push(`The page failed: ${error.stack}`))
    page.on('response', (response) => {
      const { pathname } = new URL(response.url())
      if (response.status() < 400 || mayBeAbsent.some((pattern) => pattern.test(pathname))) return
      const problem = `${response.status()} for ${response.request().method()} ${pathname}`
      problems.push(`${problem} ${response.request().postData() ?? ''}`)
    })
  })
  after(async () => {
    await browser?.close()
    await server?.close()
    await cluster?.end()
  })
  afterEach(async () => {
    await page.waitForLoadState('networkidle')
    problems.push(...(await page.locator('.bp4-toast.bp4-intent-danger').allInnerTexts()))
    const shown = (await page.locator('.app-container, .bp4-portal').allInnerTexts()).join('\n')
    const errors = shown.match(/^.*(Request failed with|Exception|Could not |Error:).*$/gm) ?? []
    const found = [...problems, ...errors]
    problems = []
    assert.deepEqual(found, [])
  })

  /** Opens a page of the console, even if another one is open. */
  async function open(hash: string): Promise<void> {
    await page.goto('about:blank')
    await page.goto(`${server.url}/#${hash}`)
  }
  const dialog = (): Locator => page.locator('.bp4-dialog').last()
  const button = (name: string | RegExp, within: Page | Locator = page): Locator =>
    within.getByRole('button', { name }).last()
  async function openRowMenu(item: string): Promise<void> {
    await page.locator('.rt-tbody .rt-tr .action-cell .bp4-popover2-target').first().click()
    await page.locator('.bp4-menu').getByText(item).last().click()
  }
  async function openHeaderMenu(item: string): Promise<void> {
    await page.locator('.header-bar [data-icon=cog]').click()
    await page.locator('.bp4-menu').getByText(item).click()
  }

  const comment = 'by the console'
  /** Saves an open dialog, and waits for the confirmation. */
  async function saveWithComment(confirmation: string): Promise<void> {
    await button('Next', dialog()).click()
    await dialog().locator('input, textarea').last().fill(comment)
    await button('Save', dialog()).click()
    await page.getByText(confirmation).waitFor()
  }
  async function untilInHistory(): Promise<void> {
    await button('History', dialog()).click()
    await dialog().getByText(comment).first().waitFor()
  }

  const pages: readonly { hash: string; shows: readonly string[] }[] = [
    {
      hash: '',
      shows: ['1 datasource', '3 segments', 'No supervisors', '1 successful task', '2 historical'],
    },
    { hash: 'workbench', shows: ['flights', 'Run'] },
    { hash: 'query', shows: ['flights', 'Run'] },
    { hash: 'datasources', shows: ['flights', 'Fully available (3 segments)', 'Cluster default'] },
    { hash: 'segments', shows: ['flights_2001-03-01T00:00:00.000Z', 'numbered'] },
    { hash: 'services', shows: ['coordinator', 'historical', '_default_tier', 'Empty load/drop queues'] },
    { hash: 'ingestion', shows: ['No supervisors', 'index_parallel', 'SUCCESS'] },
    { hash: 'lookups', shows: ['Initialize lookups'] },
    { hash: 'load-data', shows: ['Load data'] },
    { hash: 'sql-data-loader', shows: ['Local disk', 'Paste data'] },
    { hash: 'streaming-data-loader', shows: ['Please specify where your raw data is located'] },
    { hash: 'classic-batch-data-loader', shows: ['Paste data', 'Reindex from Druid'] },
  ]
  for (const { hash, shows } of pages) {
    test(`the page [${hash}] shows the cluster`, async () => {
      await open(hash)
      for (const text of shows) await page.getByText(text).first().waitFor()
    })
  }

  const queries: readonly { sql: string; shows: readonly string[] }[] = [
    { sql: `SELECT COUNT(*) AS "counted" FROM "druid"."${dataSource}"`, shows: ['20,000'] },
    { sql: `SELECT * FROM ${dataSource}`, shows: ['origin', 'destination', '1000+ results'] },
    {
      sql: 'SELECT "segment_id", "shard_spec" FROM sys.segments',
      shows: ['flights_2001-01-01T00:00:00.000Z'],
    },
    { sql: `SELECT * FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = 'druid'`, shows: ['TABLE_TYPE'] },
    { sql: 'SELECT "server", "server_type" FROM sys.servers', shows: ['historical', 'router'] },
  ]
  for (const { sql, shows } of queries) {
    test(`the workbench answers ${sql}`, async () => {
      await open('workbench')
      await enterQuery(sql)
      await button('Run').click()
      for (const text of shows) await page.getByText(text).first().waitFor()
    })
  }

  async function enterQuery(sql: string): Promise<void> {
    await page.locator('.ace_text-input').first().focus()
    await page.keyboard.press('Control+A')
    await page.keyboard.insertText(sql)
  }

  test('the workbench explains a query', async () => {
    await open('workbench')
    await enterQuery(`SELECT origin FROM ${dataSource}`)
    await page.locator('.run-panel [data-icon=more]').click()
    await page.getByText('Explain SQL query').click()
    await dialog().locator('input[value="origin::STRING"]').waitFor()
  })

  test('retention rules are set, with their history', async () => {
    await open('datasources')
    await openRowMenu('Edit retention rules')
    await button('New rule', dialog()).click()
    await saveWithComment('Retention rules submitted successfully')
    await openRowMenu('Edit retention rules')
    await untilInHistory()
  })

  test('compaction is configured', async () => {
    await open('datasources')
    await openRowMenu('Edit compaction configuration')
    await button('Submit', dialog()).click()
    await waitUntil(
      'the configuration is stored',
      () =>
        cluster.router.get<{ compactionConfigs: { dataSource: string }[] }>(
          '/svc/coordinator/v1/config/compaction',
        ),
      ({ compactionConfigs }) => compactionConfigs.some((config) => config.dataSource === dataSource),
    )
    await page.getByText('Awaiting first run').or(page.getByText('Running')).first().waitFor()
  })

  test('the coordinator is configured, with its history', async () => {
    await open('')
    // Anything typed before the current configuration is loaded would be overwritten.
    const loaded = page.waitForResponse((response) => response.url().endsWith('/coordinator/v1/config'))
    await openHeaderMenu('Coordinator dynamic config')
    await (await loaded).finished()
    await dialog().locator('input').first().fill('77')
    await saveWithComment('Saved coordinator dynamic config')
    const config = await cluster.router.get<{ maxSegmentsToMove: number }>('/svc/coordinator/v1/config')
    assert.equal(config.maxSegmentsToMove, 77)
    await openHeaderMenu('Coordinator dynamic config')
    await untilInHistory()
  })

  test('the overlord configuration is shown', async () => {
    await open('')
    await openHeaderMenu('Overlord dynamic config')
    await dialog().getByText('equalDistribution').first().waitFor()
  })

  test('a task is shown with its status, payload and log', async () => {
    await open('ingestion')
    await page.getByText('index_parallel_flights').first().click()
    await dialog().getByText('SUCCESS').first().waitFor()
    await dialog().getByText('Payload', { exact: true }).click()
    await dialog().getByText('timestampSpec').first().waitFor()
    const log = page.waitForResponse((response) => /\/task\/[^/]+\/log\?/.test(response.url()))
    await dialog().getByText('Logs', { exact: true }).click()
    assert.equal((await log).status(), 200)
  })

  test('a segment is shown with its metadata', async () => {
    await open('segments')
    await page.getByText('flights_2001-03-01T00:00:00.000Z').first().click()
    await dialog().getByText('loadSpec').first().waitFor()
  })

  test('segments are marked as unused and as used again', async () => {
    const used = async () =>
      (await storedSegments(cluster.store, dataSource)).filter((one) => one.used).length
    await open('datasources')
    await openRowMenu('Mark as unused all segments')
    await button('Mark as unused all segments').click()
    await waitUntil('no segment is used', used, (count) => count === 0)
    await open('datasources')
    await page.getByText('Show unused').click()
    await openRowMenu('Mark as used all segments')
    await button('Mark as used all segments').click()
    await waitUntil('all segments are used', used, (count) => count === 3)
  })
})
