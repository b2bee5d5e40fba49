// Tasks of a person who uses the console for the first time, in Chromium on a cluster with real data. Each may take at most
// 15 actions: a click, a dropped file, or a text that is typed into one field.

import assert from 'node:assert/strict'
import path from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { waitUntil } from '@svc/shared/testing'
import type { Browser, Locator, Page } from 'playwright-core'
import { chromiumFile } from '../support/find-on-path.ts'
import { startTestCluster, type TestCluster } from '../support/test-cluster.ts'
import { addUsers } from '../support/test-users.ts'
import { type ConsolePage, logIn, openBrowser, openPage } from './open-browser.ts'

const skip = chromiumFile === undefined && 'Chromium is not on PATH (Debian: apt-get install chromium)'
const pictures = path.join(repositoryRoot, 'docs/console')
const maxActions = 15
const dayMs = 86_400_000
const days = 40

/** Rows of the last 40 days, two a day. */
const rows = [
  'time,city,amount',
  ...Array.from({ length: 2 * days }, (_, row) => `${dayOf(row)},"Paris, F",${row}`),
]

function dayOf(row: number): string {
  const day = Math.floor(Date.now() / dayMs) - 1 - Math.floor(row / 2)
  return new Date(day * dayMs + (row % 2) * 3_600_000).toISOString()
}

describe('a new user of the console', { skip }, () => {
  let cluster: TestCluster
  let browser: Browser
  let opened: ConsolePage
  let page: Page
  let actions = 0

  const click = async (target: Locator): Promise<void> => {
    actions += 1
    await target.click()
  }
  const open = (screen: string) => click(page.getByRole('link', { name: screen, exact: true }))
  const button = (name: string | RegExp) =>
    page.getByRole('button', { name, exact: typeof name === 'string' })
  const draw = async (name: string): Promise<void> => {
    if (process.env.SVC_DOCS_UPDATE === '1')
      await page.screenshot({ path: path.join(pictures, `${name}.png`) })
  }

  before(async () => {
    cluster = await startTestCluster({
      profile: 'secure',
      historicals: '_default_tier=1,hot=1',
      set: ['svc.coordinator.period=PT1S'],
    })
    await addUsers(cluster, { alice: [] })
    browser = await openBrowser()
    opened = await openPage(browser)
    page = opened.page
    await logIn(page, `${cluster.routerUrl}/console/`, 'admin', cluster.adminPassword!)
  })
  after(async () => {
    await browser?.close()
    await cluster?.end()
  })
  beforeEach(() => {
    actions = 0
  })
  afterEach(() => {
    assert.ok(actions <= maxActions, `${actions} actions`)
    assert.deepEqual(opened.problems.splice(0), [])
  })

  /** Drops a file on the panel that ingests it, as the mouse would. */
  const drop = async (name: string, lines: readonly string[]): Promise<void> => {
    actions += 1
    const text = JSON.stringify(lines.join('\n'))
    const dataTransfer = await page.evaluateHandle(`(() => {
      const data = new DataTransfer()
      data.items.add(new File([${text}], ${JSON.stringify(name)}, { type: 'text/csv' }))
      return data
    })()`)
    await page.locator('.drop-zone').dispatchEvent('drop', { dataTransfer })
  }

  const storeRules = async (): Promise<void> => {
    const load = (type: string, tier: string, more = {}) => ({
      type,
      tieredReplicants: { [tier]: 1 },
      ...more,
    })
    const rules = '/svc/coordinator/v1/rules'
    await cluster.router.post(`${rules}/_default`, [load('loadForever', '_default_tier')])
    await cluster.router.post(`${rules}/archive`, [load('loadForever', 'glacier')])
    await cluster.router.post(`${rules}/sales`, [
      load('loadByPeriod', 'hot', { period: 'P7D' }),
      load('loadByPeriod', '_default_tier', { period: 'P2M' }),
      { type: 'dropForever' },
    ])
  }

  test('sees that a cluster without datasources has nothing to compact', async () => {
    await open('Compaction')
    await page.getByText('There are no datasources yet. First drop a file on the Runs screen.').waitFor()
    assert.equal(await page.getByLabel('Datasource').count(), 0)
    await storeRules()
    await page.getByLabel('Datasource').waitFor()
  })

  test('sees what to do first on each screen of an empty cluster', async () => {
    const said: Readonly<Record<string, RegExp>> = {
      Tiers: /not within a year/,
      Compaction: /No datasource is compacted/,
      Runs: /Ingest a file/,
      SQL: /There are no datasources that you can query/,
    }
    for (const [screen, text] of Object.entries(said)) {
      await open(screen)
      await page.getByText(text).first().waitFor()
    }
    // Rules can be set before there is data.
    await open('Datasources')
    await click(page.getByRole('link', { name: 'sales', exact: true }))
    await page.getByRole('heading', { name: 'No data yet' }).waitFor()
    await page.getByRole('button', { name: /Load by period P7D → hot/ }).waitFor()
    assert.deepEqual(await opened.findings(), [])
    await open('Overview')
  })

  test('drops a file, sees its columns, ingests it, and watches the task', async () => {
    await open('Runs')
    const of = page.getByRole('region', { name: 'Ingest a file' })
    await drop('broken.csv', ['time'])
    await of.getByText(/broken.csv: Invalid file: expected a header line/).waitFor()
    for (const name of ['sales', 'archive']) {
      await drop(`${name}.csv`, rows)
      await of.getByRole('row', { name: 'amount number 0, 1, 2' }).waitFor()
      await of.getByRole('row', { name: /city text Paris, F/ }).waitFor()
      assert.equal(await of.getByLabel('Datasource').inputValue(), name)
      assert.equal(await of.getByLabel('Timestamp column').inputValue(), 'time')
      if (name === 'sales') {
        assert.deepEqual(await opened.findings(), [])
        await draw('ingest')
      }
      await click(of.getByRole('button', { name: 'Ingest' }))
      const task = page.getByRole('complementary', { name: 'Task' })
      await task.getByText(new RegExp(`index_parallel task for ${name}, succeeded`)).waitFor()
      // A time and a message instead of JSON, which is shown on request.
      await task
        .getByRole('list', { name: 'Log' })
        .getByText(/^\d\d:\d\d:\d\d /)
        .first()
        .waitFor()
      await task.getByLabel('Show the raw log').check()
      await task.getByText(/^\{"timestamp":/).waitFor()
      assert.deepEqual(await opened.findings(), [])
    }
    await waitUntil('sales is loaded', async () => {
      const status = await cluster.router.get<Record<string, number>>('/svc/coordinator/v1/loadstatus')
      return status.sales === 100
    })
    const list = '/svc/coordinator/v1/metadata/datasources/sales/segments'
    assert.equal((await cluster.router.get<string[]>(list)).length, days)
    // The log of a task is missing until it starts.
    opened.problems.splice(0)
  })

  test('finds out why a segment is not loaded', async () => {
    await open('Overview')
    await click(page.getByRole('region', { name: 'Needs attention' }).getByRole('link', { name: 'archive' }))
    await click(button('Why?'))
    const explanation = page.getByRole('region', { name: 'Explanation' })
    await explanation
      .getByText(/glacier.*no server/)
      .first()
      .waitFor()
    await explanation.getByText('Rule 0 (Load forever → glacier ×1) applies.').waitFor()
    await page.getByText(`${days} segments, of which ${days} lack replicas under the stored rules.`).waitFor()
    assert.deepEqual(await opened.findings(), [])
    await click(button('Close'))
  })

  test('keeps one more month on hot', async () => {
    await open('Datasources')
    await click(page.getByRole('link', { name: 'sales', exact: true }))
    await click(button(/Load by period P7D → hot/))
    await click(button('Add one month'))
    await page.getByText('1 month and 7 days').waitFor()
    await page.getByText('was P7D').waitFor()
    const move = page.getByRole('row', { name: /_default_tier → hot/ })
    await move.waitFor()
    await page.setViewportSize({ width: 1280, height: 900 })
    assert.ok((await move.boundingBox())!.height < 40)
    await page.setViewportSize({ width: 1440, height: 900 })
    await click(button('Apply'))
    await page.getByText('All replicas are where the rules require them.').waitFor()
    const [first] = await cluster.router.get<{ period: string }[]>('/svc/coordinator/v1/rules/sales')
    assert.equal(first!.period, 'P1M7D')
  })

  test('finds out who changed the rules', async () => {
    await open('Datasources')
    await click(page.getByRole('link', { name: 'sales', exact: true }))
    await click(button('All rule changes'))
    const changes = page.getByRole('dialog', { name: 'Rule changes for sales' })
    const last = changes.getByRole('row').nth(1)
    await last.getByText('admin', { exact: true }).waitFor()
    await last.getByText('+ Load by period P1M7D → hot ×1').waitFor()
    await last.getByText('− Load by period P7D → hot ×1').waitFor()
    assert.deepEqual(await opened.findings(), [])
    await draw('rule-changes')
    // The rules before the last change become an edit, which is not applied here.
    await click(changes.getByRole('button', { name: 'Edit these rules' }).first())
    await page.getByText('was P1M7D').waitFor()
    await click(button('Discard'))
  })

  test('gives a user read access to one datasource', async () => {
    await open('Access')
    await click(button('alice'))
    actions += 1
    await page.getByLabel('Datasource').selectOption('sales')
    await click(button('Give access'))
    await page.getByText('alice can now read sales.').waitFor()
  })

  test('shows what happens in 90 days', async () => {
    await open('Overview')
    for (let month = 0; month < 3; month += 1) await click(button('+1 month'))
    await page
      .getByText(`${2 * days} segments will be unqueryable; ${days} of them can be queried now`)
      .waitFor()
    await page.getByText(/^Preview of \d{4}/).waitFor()
    await click(button('Back to now'))
  })
})
