// The console in Chromium when something unusual happens: failures, two people at once, long lists, hostile names, and
// another user in the same tab.

import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { waitUntil } from '@svc/shared/testing'
import fc from 'fast-check'
import type { Browser, Page } from 'playwright-core'
import { chromiumFile } from '../support/find-on-path.ts'
import { runSvc } from '../support/svc-command.ts'
import type { TestCluster } from '../support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { addUsers, credentialsOf } from '../support/test-users.ts'
import { editPeriod } from './main-flow.ts'
import { type ConsolePage, isFocused, isInView, logIn, openBrowser, openPage } from './open-browser.ts'
import { openLink } from './open-link.ts'
import { startSampleCluster } from './sample-cluster.ts'
import { hostileName } from './sample-inventory.ts'

const skip = chromiumFile === undefined && 'Chromium is not on PATH (Debian: apt-get install chromium)'
const rulesPath = '/svc/coordinator/v1/rules'
const compactionPath = '/svc/indexer/v1/compaction/config/datasources'
const maxRules = 10_000

describe('the console, when something unusual happens', { skip }, () => {
  let cluster: TestCluster
  let browser: Browser
  let opened: ConsolePage
  let page: Page
  const snapshot = newTestFolder()

  const urlOf = (screen: string): string => `${cluster.routerUrl}/console/${screen}`
  const open = (screen: string) => logIn(page, urlOf(screen), 'admin', cluster.adminPassword!)
  const passwordOf = (name: string): string => credentialsOf(name).split(':')[1]!
  const button = (name: string | RegExp) =>
    page.getByRole('button', { name, exact: typeof name === 'string' })
  const link = (name: string) => page.getByRole('link', { name, exact: true })
  const text = (wanted: string | RegExp) => page.getByText(wanted).first()
  const isGone = (wanted: string | RegExp) => page.getByText(wanted).first().waitFor({ state: 'detached' })
  const focused = () =>
    page.evaluate('document.activeElement.textContent || document.activeElement.tagName') as Promise<string>
  const rulesOf = (dataSource: string) =>
    cluster.router.get<{ period?: string }[]>(`${rulesPath}/${encodeURIComponent(dataSource)}`)
  const periodsOf = async (dataSource: string) => (await rulesOf(dataSource)).map(({ period = '' }) => period)
  const skippedOf = async () =>
    (await cluster.router.get<{ skipOffsetFromLatest: string }>(`${compactionPath}/wikipedia`))
      .skipOffsetFromLatest

  before(async () => {
    cluster = await startSampleCluster(snapshot)
    await addUsers(cluster, {
      writer: [
        { resource: { type: 'DATASOURCE', name: 'koalas' }, action: 'READ' },
        { resource: { type: 'DATASOURCE', name: 'koalas' }, action: 'WRITE' },
      ],
    })
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await cluster?.end()
    removeTestFolder(snapshot)
  })
  // Each test has a page of its own, because edits outlive screens.
  beforeEach(async () => {
    opened = await openPage(browser)
    page = opened.page
  })
  afterEach(async () => {
    const problems = opened.problems.splice(0)
    await opened.context.close()
    assert.deepEqual(problems, [])
  })

  test('keeps an edit on all screens, and asks before it is lost', async () => {
    await open('datasources/wikipedia')
    await editPeriod(page, 'P13M', 'P14M')
    await page.getByLabel(/Comment/).fill('because')
    await link('Tiers').click()
    await page.getByRole('heading', { name: 'Tiers and servers' }).waitFor()
    await page.goBack()
    await text('was P13M').waitFor()
    assert.equal(await page.getByLabel(/Comment/).inputValue(), 'because')
    // The header leads back to it.
    await link('Overview').click()
    await page.getByRole('banner').getByRole('link', { name: 'wikipedia' }).click()
    await text('was P13M').waitFor()
    // Esc leaves a field before it discards anything, and what it discards can be restored.
    await page.getByLabel(/Comment/).press('Escape')
    assert.equal(await page.getByText('was P13M').count(), 1)
    await page.keyboard.press('Escape')
    await text('The edit was discarded.').waitFor()
    await button('Restore').click()
    await text('was P13M').waitFor()
    const asking = page.waitForEvent('dialog')
    const closing = page.close({ runBeforeUnload: true })
    const dialog = await asking
    assert.equal(dialog.type(), 'beforeunload')
    await dialog.dismiss()
    await closing
    await text('was P13M').waitFor()
    await button('Apply').click()
    await text('Applied.').waitFor()
    await link('Tiers').click()
    await page.goBack()
    await button('Undo').click()
    await text('Undone.').waitFor()
    assert.deepEqual(await periodsOf('wikipedia'), ['P7D', 'P90D', 'P13M', ''])
  })

  test('shows what failed instead of a blank page, and tries again without losing the edit', async () => {
    const code = /\/assets\/sql-.*\.js/
    await page.route(code, (route) => route.abort())
    await open('datasources/wikipedia')
    await editPeriod(page, 'P13M', 'P14M')
    await link('SQL').click()
    await text('This screen failed to load.').waitFor()
    assert.deepEqual(await opened.findings(), [])
    await button('Try again').click()
    await text('This screen failed to load.').waitFor()
    await page.unroute(code)
    await button('Try again').click()
    await page.getByRole('heading', { name: 'SQL' }).waitFor()
    await page.goBack()
    await text('was P13M').waitFor()
    // The browser reports the downloads that failed.
    opened.problems.splice(0)
  })

  test('says that an address is invalid, and opens names with percent signs', async () => {
    await open('datasources/%E0%A4%A')
    await text('Invalid name').waitFor()
    await link('Show all datasources').click()
    await link('koalas').waitFor()
    for (const name of ['100%', 'a%2Fb', 'constructor', '__proto__']) {
      await page.evaluate(
        `history.pushState(null, '', ${JSON.stringify(urlOf(`datasources/${encodeURIComponent(name)}`))})`,
      )
      await page.getByRole('heading', { name, exact: true }).waitFor()
    }
  })

  test('shows that an unknown address was not found', async () => {
    await open('nosuchpage')
    await text('Page not found').waitFor()
    assert.equal(await page.title(), 'Page not found · svc console')
    await link('Go to the overview').click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.equal(await page.title(), 'Overview · svc console')
  })

  /** Opens the overview, and presses / while the datasource screen is still downloading. Returns a function that lets the download finish. */
  const searchBeforeDownload = async (): Promise<() => void> => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    await page.route(/\/assets\/datasource-.*\.js/, async (route) => {
      await released
      await route.continue()
    })
    await open('')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.keyboard.press('/')
    await text('Loading…').waitFor()
    return release
  }

  test('searches for what is typed before the search field was downloaded', async () => {
    const release = await searchBeforeDownload()
    await page.keyboard.type('koalx')
    await page.keyboard.press('Backspace')
    release()
    await page.locator('input[type=search]:focus').waitFor()
    await text('1 of 5').waitFor()
    assert.equal(await page.getByRole('searchbox').inputValue(), 'koal')
    await page.keyboard.type('as')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'koalas', exact: true }).waitFor()
  })

  test('opens the first result of what is typed before the search field was downloaded', async () => {
    const release = await searchBeforeDownload()
    await page.keyboard.type('koala')
    await page.keyboard.press('Enter')
    release()
    await page.getByRole('heading', { name: 'koalas', exact: true }).waitFor()
    assert.equal(await page.title(), 'koalas · svc console')
  })

  test('scrolls to what was selected in a narrow window, and gives it the focus', async () => {
    await page.setViewportSize({ width: 640, height: 400 })
    await open('access')
    await button('writer').click()
    const heading = page.getByRole('heading', { name: 'User writer' })
    await waitUntil('the panel is in view', () => isInView(heading))
    assert.ok(await page.getByRole('complementary', { name: 'Change access' }).evaluate(isFocused))
    await open('faults')
    const server = page.getByRole('button', { name: /^router/ }).first()
    await server.press('Enter')
    await waitUntil('the form is in view', () => isInView(page.getByRole('heading', { name: /^router/ })))
  })

  test('fits into a window of 1280 pixels, even with an unsaved edit and without a connection', async (context) => {
    const connection = await openLink(context, cluster.routerUrl)
    const spec = { type: 'kill', dataSource: 'koalas', interval: '2000-01-01/2000-01-02' }
    await cluster.router.post('/svc/indexer/v1/task', spec)
    await page.setViewportSize({ width: 1280, height: 800 })
    const address = `${connection.url}/console/datasources/wikipedia`
    await logIn(page, address, 'admin', cluster.adminPassword!)
    await editPeriod(page, 'P13M', 'P14M')
    /** Returns how many pixels of an element are cut on the right and at the bottom. */
    const cutPixels = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate(
          (
            one: Readonly<Record<'scrollWidth' | 'clientWidth' | 'scrollHeight' | 'clientHeight', number>>,
          ) => [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight],
        )
    await link('Runs').click()
    assert.deepEqual(await cutPixels('.task-id button'), [0, 0])
    await link('Access').click()
    assert.equal((await cutPixels('.matrix'))[0], 0)
    connection.cut()
    await text(/^No connection/).waitFor()
    const { height } = (await page.getByRole('banner').boundingBox())!
    assert.ok(height < 50, `${height} pixels`)
    opened.problems.splice(0)
  })

  test('previews edits without a network, and marks what is out of date', async () => {
    await open('datasources/wikipedia')
    await editPeriod(page, 'P13M', 'P14M')
    await text('0 segments').waitFor()
    await opened.context.setOffline(true)
    await page.getByLabel(/^Period/).fill('P1M')
    await text(/days become unqueryable/).waitFor()
    await page.getByLabel(/^Period/).fill('P1X')
    await text('To apply the edit, first fix the rules.').waitFor()
    await page.locator('.panel.outdated').waitFor()
    assert.ok(await button('Apply').isDisabled())
    for (const theme of ['Light', 'Dark']) {
      await button(theme).click()
      await page.evaluate(
        'Promise.all(document.getAnimations().map(({ finished }) => finished)).then(() => {})',
      )
      assert.deepEqual(await opened.findings(), [], theme)
    }
    await page.getByLabel(/^Period/).fill('P15M')
    await page.locator('.panel.outdated').waitFor({ state: 'detached' })
    await isGone(/days become unqueryable/)
    // All screens were downloaded in advance.
    await link('SQL').click()
    await page.getByRole('heading', { name: 'SQL' }).waitFor()
    await opened.context.setOffline(false)
    opened.problems.splice(0)
  })

  test('shows a change that another person stores at the same moment, and overwrites nothing', async () => {
    const before = await rulesOf('wikipedia')
    await open('datasources/wikipedia')
    await editPeriod(page, 'P90D', 'P60D')
    // The other change arrives after the page has compared the rules, and before it stores its own.
    const changeBeforeNextRequest = (period: string) =>
      page.route(`**${rulesPath}/wikipedia`, async (route) => {
        if (route.request().method() === 'POST')
          await cluster.router.post(
            `${rulesPath}/wikipedia`,
            before.map((rule) => (rule.period === 'P7D' ? { ...rule, period } : rule)),
          )
        await route.continue()
      })
    await changeBeforeNextRequest('P21D')
    await button('Apply').click()
    await text('These rules changed while you were editing.').waitFor()
    await text('+ Load by period P21D → hot ×2').waitFor()
    await text('was P90D').waitFor()
    assert.deepEqual(await periodsOf('wikipedia'), ['P21D', 'P90D', 'P13M', ''])
    await page.unroute(`**${rulesPath}/wikipedia`)
    await button('Keep my edit and replace these rules').click()
    await text('was P21D').waitFor()
    await button('Apply').click()
    await text('Applied.').waitFor()
    assert.deepEqual(await periodsOf('wikipedia'), ['P7D', 'P60D', 'P13M', ''])
    await changeBeforeNextRequest('P22D')
    await button('Undo').click()
    await text('The rules have changed again since then, so nothing was undone.').waitFor()
    assert.deepEqual(await periodsOf('wikipedia'), ['P22D', 'P90D', 'P13M', ''])
    await page.unroute(`**${rulesPath}/wikipedia`)
    await cluster.router.post(`${rulesPath}/wikipedia`, before)
    // The browser reports the status of the refused changes.
    assert.match(opened.problems.splice(0).join(), /status of 409/)
  })

  test('ends an edit whose rules were stored with a command', async () => {
    await open('datasources/wikipedia')
    await editPeriod(page, 'P13M', 'P14M')
    const before = await rulesOf('wikipedia')
    const after = before.map((rule) => (rule.period === 'P13M' ? { ...rule, period: 'P14M' } : rule))
    await cluster.router.post(`${rulesPath}/wikipedia`, after)
    await text('These rules are already stored').waitFor()
    assert.equal(await button('Apply').count(), 0)
    assert.equal(await page.getByText('while you were editing').count(), 0)
    await cluster.router.post(`${rulesPath}/wikipedia`, before)
    await isGone('These rules are already stored')
  })

  test('keeps, compares, and reviews edits of compaction', async () => {
    await open('compaction')
    const period = page.getByLabel('Skip offset from latest')
    await period.fill('P20D')
    await page.getByLabel(/Comment/).fill('later')
    await link('Overview').click()
    await page.getByRole('banner').getByRole('link', { name: 'compaction of wikipedia' }).click()
    assert.equal(await period.inputValue(), 'P20D')
    const stored = await cluster.router.get<object>(`${compactionPath}/wikipedia`)
    await page.route(`**${compactionPath}/wikipedia`, async (route) => {
      if (route.request().method() === 'POST')
        await cluster.router.post(`${compactionPath}/wikipedia`, { ...stored, skipOffsetFromLatest: 'P30D' })
      await route.continue()
    })
    await button('Apply').click()
    await text('This configuration changed while you were editing.').waitFor()
    await text('skipOffsetFromLatest: "P14D" → "P30D"').waitFor()
    assert.equal(await skippedOf(), 'P30D')
    await page.unroute(`**${compactionPath}/wikipedia`)
    assert.deepEqual(await opened.findings(), [])
    await button('Discard my edit').click()
    await text('The edit was discarded.').waitFor()
    await button('Restore').click()
    await button('Keep my edit and replace this configuration').click()
    await button('Apply').click()
    await text('Applied.').waitFor()
    assert.equal(await skippedOf(), 'P20D')
    await cluster.router.post(`${compactionPath}/wikipedia`, stored)
    assert.match(opened.problems.splice(0).join(), /status of 409/)
  })

  test('shows the compaction of all datasources on one axis, and only of one if there are too many intervals', async () => {
    await cluster.router.post(`${compactionPath}/koalas`, {
      dataSource: 'koalas',
      skipOffsetFromLatest: 'P0D',
    })
    await open('compaction')
    const map = page.getByRole('group', { name: /^Compaction of all datasources/ })
    await map.focus()
    for (const key of ['ArrowDown', 'ArrowUp']) await page.keyboard.press(key)
    const details = page.locator('.cell-details')
    await details.getByText(/^koalas, \d{4}/).waitFor()
    await map.locator('svg').click({ position: { x: 4, y: 34 } })
    await details
      .getByRole('row', { name: /awaits compaction/ })
      .first()
      .waitFor()
    assert.equal(await map.locator('.current').count(), 1)
    assert.deepEqual(await opened.findings(), [])
    const statusPath = '/svc/indexer/v1/compaction/status/datasources'
    await page.route(`**${statusPath}`, async (route) => {
      const response = await route.fetch()
      const { latestStatus } = (await response.json()) as { latestStatus: object[] }
      const json = { latestStatus: latestStatus.map((one) => ({ ...one, intervalCountCompacted: 30_000 })) }
      await route.fulfill({ response, json })
    })
    // A change lets the page request the status again.
    await cluster.router.post(`${compactionPath}/koalas`, {
      dataSource: 'koalas',
      skipOffsetFromLatest: 'P1D',
    })
    await map.waitFor({ state: 'detached' })
    await text(
      /^There are 60,\d{3} intervals, so only those of the chosen datasource are shown, if there are at most 50,000\.$/,
    ).waitFor()
    await page.getByRole('group', { name: /^Compaction calendar of koalas/ }).waitFor()
    await page.getByLabel('Datasource').selectOption('wikipedia')
    await page.getByRole('group', { name: /^Compaction calendar of wikipedia/ }).waitFor()
    await cluster.router.send({ method: 'DELETE', path: `${compactionPath}/koalas` })
  })

  test('shows a configuration whose JSON has values of other types, and refuses other JSON', async () => {
    await open('compaction')
    await text('All fields as JSON').click()
    const json = page.getByLabel('Configuration as JSON')
    const stored = JSON.parse(await json.inputValue()) as { tuningConfig: { partitionsSpec: object } }
    const { partitionsSpec } = stored.tuningConfig
    await json.fill(
      JSON.stringify({
        ...stored,
        tuningConfig: { partitionsSpec: { ...partitionsSpec, partitionDimensions: 'page' } },
      }),
    )
    await page
      .getByText(/partitionDimensions/)
      .first()
      .waitFor()
    assert.equal(await page.getByLabel('Columns to sort by').inputValue(), '')
    for (const other of ['null', '[]', '"P1D"']) {
      await json.fill(other)
      await text('Invalid configuration: expected a JSON object').waitFor()
    }
    await button('Discard').click()
    await text('The edit was discarded.').waitFor()
    assert.equal(await page.getByLabel('Columns to sort by').inputValue(), 'page')
    // The browser reports the status of the invalid preview.
    opened.problems.splice(0)
  })

  test('runs SQL on a page that was not loaded securely, and keeps the query on all screens', async () => {
    await page.addInitScript('delete Crypto.prototype.randomUUID')
    await open('sql')
    await page.getByLabel('Query').fill('SELECT 40 + 2 AS answer')
    await button('Run').click()
    await page.getByRole('cell', { name: '42', exact: true }).waitFor()
    await link('Tiers').click()
    await link('SQL').click()
    assert.equal(await page.getByLabel('Query').inputValue(), 'SELECT 40 + 2 AS answer')
  })

  test('says that a cluster does not store users or roles', async () => {
    await page.route('**/svc/router/v1/caller*', async (request) => {
      const response = await request.fetch()
      await request.fulfill({ response, json: { ...(await response.json()), storesRoles: false } })
    })
    await open('access')
    await text('This cluster does not store users or roles').waitFor()
    assert.deepEqual(await opened.findings(), [])
  })

  test('stops compaction only after a review, and undoes it', async () => {
    await open('compaction')
    await button('Stop compaction…').click()
    await text('wikipedia will no longer be compacted automatically.').waitFor()
    assert.equal(await skippedOf(), 'P14D')
    await button('Stop compaction').click()
    await text('Stopped compaction.').waitFor()
    assert.equal(await page.getByLabel('Datasource').inputValue(), 'wikipedia')
    const { compactionConfigs } = await cluster.router.get<{ compactionConfigs: object[] }>(compactionPath)
    assert.deepEqual(compactionConfigs, [])
    // Undo stays reachable.
    await link('Tiers').click()
    await page.goBack()
    await button('Undo').click()
    await text('Undone.').waitFor()
    assert.equal(await skippedOf(), 'P14D')
  })

  test('suspends and resumes a supervisor after a review', async () => {
    const clusterConfigPath = '/svc/indexer/v1/compaction/config/cluster'
    const supervisorPath = '/svc/indexer/v1/supervisor'
    const before = await cluster.router.get<object>(clusterConfigPath)
    const spec = await cluster.router.get<object>(`${compactionPath}/wikipedia`)
    await cluster.router.post(clusterConfigPath, { ...before, useSupervisors: true })
    await cluster.router.post(supervisorPath, { type: 'autocompact', spec })
    await open('compaction')
    const supervisors = page.getByRole('region', { name: 'Supervisors' })
    const isSuspended = async () => {
      const list = await cluster.router.get<{ suspended: boolean }[]>(`${supervisorPath}?full`)
      return list.map(({ suspended }) => suspended)
    }
    await supervisors.getByRole('button', { name: 'Suspend…' }).click()
    await supervisors.getByText(/submits no more tasks for wikipedia until you resume it/).waitFor()
    assert.deepEqual(await isSuspended(), [false])
    await supervisors.getByRole('button', { name: 'Suspend', exact: true }).click()
    await supervisors.getByText('suspended').waitFor()
    assert.deepEqual(await isSuspended(), [true])
    assert.deepEqual(await opened.findings(), [])
    await supervisors.getByRole('button', { name: 'Resume…' }).click()
    await supervisors.getByRole('button', { name: 'Resume', exact: true }).click()
    await supervisors.getByRole('button', { name: 'Suspend…' }).waitFor()
    assert.deepEqual(await isSuspended(), [false])
    // The coordinator runs compaction again.
    await cluster.router.post(clusterConfigPath, before)
    await supervisors.getByText(/^These supervisors submit no tasks/).waitFor()
    await supervisors.getByText('scheduler stopped').waitFor()
    await cluster.router.post(`${supervisorPath}/autocompact__wikipedia/terminate`, undefined)
  })

  test('shows nothing of the last user to the next one', async () => {
    await open('datasources/wikipedia')
    await editPeriod(page, 'P13M', 'P14M')
    await page.getByLabel(/Comment/).fill('secret plan')
    await button('Log out').click()
    await page.getByLabel('Name').fill('writer')
    await page.getByLabel('Password').fill(passwordOf('writer'))
    await button('Log in').click()
    await text('Missing permission').waitFor()
    for (const secret of ['secret plan', 'P13M', 'Unsaved', 'by admin'])
      assert.equal(await page.getByText(secret).count(), 0, secret)
    await link('Datasources').click()
    await link('koalas').waitFor()
    assert.equal(await page.getByText('clickstream').count(), 0)
  })

  test('undoes a loss, also for a user who may read only one datasource', async () => {
    const count = async (kind: 'segments' | 'unusedSegments') =>
      (await cluster.router.get<unknown[]>(`/svc/coordinator/v1/metadata/datasources/koalas/${kind}`)).length
    await logIn(page, urlOf('datasources/koalas'), 'writer', passwordOf('writer'))
    await button('Add rule').click()
    await page.getByLabel('Action').selectOption('drop')
    await page.getByLabel('Which data').selectOption({ label: 'forever' })
    await page.getByLabel(/to confirm the loss/).fill('koalas')
    await button('Apply').click()
    await text('Applied.').waitFor()
    await waitUntil('the segments are unused', async () => (await count('unusedSegments')) === 30)
    const marking = Promise.withResolvers<void>()
    await page.route(
      '**/markUsed',
      async (request) => {
        await marking.promise
        await request.abort()
      },
      { times: 1 },
    )
    await button('Undo').click()
    await text('Marking segments as used: 0 of 30.').waitFor()
    await text('Unsaved: undo in progress for koalas').waitFor()
    assert.equal(await button('Undo').count(), 0)
    marking.resolve()
    await text('Marked 0 of 30 segments as used.').waitFor()
    await button('Try again').click()
    await text('Undone. All replicas').waitFor()
    assert.equal(await count('segments'), 30)
    // The browser reports the aborted request.
    opened.problems.splice(0)
  })

  test('confirms the loss of a datasource whose name cannot be typed', async () => {
    await open(`datasources/${encodeURIComponent(hostileName)}`)
    await button('Add rule').click()
    await page.getByLabel('Action').selectOption('drop')
    await page.getByLabel('Which data').selectOption({ label: 'forever' })
    await page
      .locator('.decision')
      .getByText(/days become unqueryable/)
      .waitFor()
    assert.ok(await button('Apply').isDisabled())
    await text('To apply the edit, first confirm the loss.').waitFor()
    await page.getByLabel(/to confirm the loss/).fill('<img src=x onerror=alert(1)>"\'&amp; evil')
    await button('Apply').click()
    await text('Applied.').waitFor()
    await button('Undo').click()
    await text('Undone.').waitFor()
    await link('Compaction').click()
    const options = page.getByLabel('Datasource').locator('option')
    await options.filter({ hasText: 'evil' }).waitFor({ state: 'attached' })
    assert.ok(!(await options.allTextContents()).join().includes('\u202e'))
  })

  test('refuses a link with a rule of an unknown type', async () => {
    const encoded = Buffer.from(JSON.stringify([{ type: 'loadSometimes' }])).toString('base64url')
    await open(`datasources/koalas#;rules=${encoded}`)
    await text('This link contains a rule of the unknown type [loadSometimes]').waitFor()
    assert.equal(await page.getByText('Preview of an unsaved edit').count(), 0)
  })

  test('opens a link with invalid rules, says what is wrong with them, and works', async () => {
    const rules = [{ type: 'loadByPeriod', period: 'P9X', tieredReplicants: { hot: 2 } }]
    const encoded = Buffer.from(JSON.stringify(rules)).toString('base64url')
    await open(`datasources/koalas#;rules=${encoded}`)
    const message = text(/^The rules in this link are invalid: Invalid value \[P9X\]/)
    await message.waitFor()
    // The preview is that of the stored rules.
    await page.locator('.panel.outdated').waitFor()
    await text('To apply the edit, first fix the rules.').waitFor()
    assert.deepEqual(await opened.findings(), [])
    await button(/Load by period P9X/).click()
    await page.getByLabel(/^Period/).fill('P30Y')
    await page.locator('.panel.outdated').waitFor({ state: 'detached' })
    assert.equal(await message.count(), 0)
    assert.ok(await button('Apply').isEnabled())
    await button('Discard').click()
    await text('The edit was discarded.').waitFor()
  })

  test('moves the focus to the next rule when one is removed', async () => {
    await open('datasources/wikipedia')
    await button('Remove rule 1').focus()
    await page.keyboard.press('Enter')
    await page.waitForFunction(`document.activeElement.textContent.includes('P13M')`)
    await button('Remove rule 2').focus()
    await page.keyboard.press('Enter')
    await page.waitForFunction(`document.activeElement.textContent.includes('P13M')`)
    for (const rule of ['1', '0']) {
      await button(`Remove rule ${rule}`).focus()
      await page.keyboard.press('Enter')
    }
    await page.waitForFunction(`document.activeElement.textContent === 'Add rule'`)
    assert.equal(await focused(), 'Add rule')
  })

  test(`shows ${maxRules} rules, of which only the visible ones exist, and edits them`, async () => {
    // A request has room for so many rules only if they are short.
    const minute = (at: number): string => new Date(at * 60_000).toISOString().slice(0, 16)
    const many = Array.from({ length: maxRules }, (_, at) => ({
      type: 'loadByInterval',
      interval: `${minute(at)}/PT1M`,
      tieredReplicants: { hot: 1 },
    }))
    await cluster.router.post(`${rulesPath}/koalas`, many)
    await open('datasources/koalas')
    await page.getByRole('region', { name: 'Timeline' }).waitFor()
    await button(/Load by interval 1970-01-01\/1970-01-01T00:01/).waitFor()
    const nodes = (await page.evaluate('document.querySelectorAll("*").length')) as number
    assert.ok(nodes < 3000, `${nodes} nodes`)
    const session = await opened.context.newCDPSession(page)
    await session.send('Performance.enable')
    const { metrics } = await session.send('Performance.getMetrics')
    const { value: scriptSeconds } = metrics.find(({ name }) => name === 'ScriptDuration')!
    assert.ok(scriptSeconds < 5, `${scriptSeconds} s`)
    // Drag and keyboard move rules.
    const handles = page.locator('.handle')
    await handles.nth(0).dragTo(page.locator('.rule').nth(2))
    await button(/^2 Load by interval 1970-01-01\/1970-01-01T00:01/).waitFor()
    await button(/^2 Load by interval 1970-01-01\/1970-01-01T00:01/).focus()
    await page.keyboard.press('Alt+ArrowUp')
    await page.keyboard.press('Alt+ArrowUp')
    await button(/^0 Load by interval 1970-01-01\/1970-01-01T00:01/).waitFor()
    await isGone('Preview of an unsaved edit')
    // The last rule is in the list, too.
    await page.locator('.long-rules').evaluate((list: { scrollTop: number }) => {
      list.scrollTop = 1e9
    })
    await button('Remove rule 9999').click()
    await text('Preview of an unsaved edit').waitFor()
    await page.waitForFunction(`document.activeElement.textContent.startsWith('9998')`)
    // Until then, the panel is dimmed.
    await page.locator('.panel.outdated').waitFor({ state: 'detached' })
    assert.deepEqual(await opened.findings(), [])
    await button('Discard').click()
    await button('Add rule').click()
    await text('Too many rules [10001] in [rules]: expected at most 10000').waitFor()
    assert.ok(await button('Apply').isDisabled())
    await cluster.router.post(`${rulesPath}/koalas`, [])
  })

  test('previews random edits exactly as the coordinator does', async () => {
    await open('datasources/wikipedia')
    await page.getByRole('region', { name: 'Timeline' }).waitFor()
    const anyRule = fc.oneof(
      fc.record({
        type: fc.constantFrom('loadByPeriod'),
        period: fc.constantFrom('P3D', 'P1M', 'P100D', 'P1Y'),
        includeFuture: fc.boolean(),
        tieredReplicants: fc.dictionary(fc.constantFrom('hot', '_default_tier', 'cold', 'icy'), fc.nat(4)),
      }),
      fc.record({ type: fc.constantFrom('dropByPeriod', 'dropBeforeByPeriod'), period: fc.constant('P60D') }),
      fc.record({ type: fc.constantFrom('dropForever', 'broadcastForever', 'loadForever') }),
    )
    const edits = fc.sample(fc.array(anyRule, { maxLength: 5 }), {
      numRuns: Number(process.env.SVC_TEST_EDITS ?? 60),
      seed: 18,
    })
    // As text, because tests have no types of browsers. The worker is another one with the same code.
    const different = (await page.evaluate(`(async () => {
      const headers = {
        Authorization: 'Basic ' + btoa(${JSON.stringify(`admin:${cluster.adminPassword}`)}),
        'Content-Type': 'application/json',
      }
      const file = performance.getEntriesByType('resource').find(({ name }) => /web-worker-/.test(name)).name
      const worker = new Worker(file, { type: 'module' })
      let id = 0
      const call = (kind, input) => new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => 'output' in data ? resolve(data.output) : reject(new Error(data.message))
        worker.postMessage({ id: id++, kind, authorization: headers.Authorization, input })
      })
      const { now } = await call('refresh', { canReadState: true })
      const different = []
      for (const rules of ${JSON.stringify(edits)}) {
        const task = { dataSource: 'wikipedia', rules, now, maxBuckets: 40, assumesSpace: false }
        const { answer } = await call('preview', task)
        const body = JSON.stringify({ rules: { wikipedia: rules }, now: new Date(now).toISOString() })
        const response = await fetch('${rulesPath}/simulate', { method: 'POST', headers, body, credentials: 'omit' })
        const coordinator = await response.json()
        // Only the coordinator knows how fast servers load, and which segments are unused.
        delete coordinator.summary.loadTime
        delete coordinator.summary.restorable
        const sorted = (value) => JSON.stringify(value, (_, one) =>
          one !== null && typeof one === 'object' && !Array.isArray(one)
            ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
            : one)
        const [shown, expected] = [answer, coordinator].map(({ summary, warnings }) => sorted({ summary, warnings }))
        if (shown !== expected) different.push({ rules, shown, expected })
      }
      worker.terminate()
      return different
    })()`)) as object[]
    assert.deepEqual(different.slice(0, 1), [])
  })

  test('keeps an edit while the leader is killed, and applies it afterward', async () => {
    await open('datasources/wikipedia')
    await editPeriod(page, 'P13M', 'P14M')
    await page.locator('.panel.outdated').waitFor({ state: 'detached' })
    await page.evaluate(`new MutationObserver(() => {
      globalThis.wasOutdated = globalThis.wasOutdated === true || document.querySelector('.outdated') !== null
    }).observe(document.body, { subtree: true, childList: true, attributes: true })`)
    const { pid } = cluster.processes().find(({ instance }) => instance === 'coordinator')!.process!
    process.kill(pid, 'SIGKILL')
    await text(/^(No connection|Waiting for the leader)/).waitFor()
    const refreshed = page.waitForResponse(
      (response) => response.url().includes('/coordinator/v1/inventory') && response.ok(),
    )
    await text('was P13M').waitFor()
    await refreshed
    await isGone(/^(No connection|Waiting for the leader)/)
    // Until the inventory of the next leader is previewed, the last preview of the edit stays valid.
    assert.equal(await page.evaluate('globalThis.wasOutdated'), false)
    await button('Apply').click()
    await text('Applied.').waitFor()
    assert.deepEqual(await periodsOf('wikipedia'), ['P7D', 'P90D', 'P14M', ''])
    await button('Undo').click()
    await text('Undone.').waitFor()
    // The browser reports the requests that failed in the meantime.
    opened.problems.splice(0)
  })

  test('says which servers are missing or not ready, and why', async () => {
    await open('')
    await text('Nothing needs attention.').waitFor()
    const certificates = page.getByRole('region', { name: 'Certificates expire in' })
    await certificates.getByRole('row', { name: /historical .* server \d+ days/ }).waitFor()
    const { pid } = cluster.processes().find(({ instance }) => instance === 'broker')!.process!
    process.kill(pid, 'SIGSTOP')
    await text(/^The broker .* is missing: No heartbeat for \d+ s/).waitFor()
    process.kill(pid, 'SIGCONT')
    await text('Nothing needs attention.').waitFor()
    const expired = await runSvc('pki', 'expire', 'historical-1', '--home', cluster.home.root)
    assert.equal(expired.status, 0, expired.stderr)
    await text(/^The historical .* is not ready: .* contains a certificate that expired on/).waitFor()
    await page.getByRole('region', { name: 'Services' }).getByText('not ready').waitFor()
    assert.deepEqual(await opened.findings(), [])
  })

  test('works in 2099, and shows ages of runs and tasks in real time', async () => {
    const spec = { type: 'kill', dataSource: 'koalas', interval: '2000-01-01/2000-01-02' }
    await cluster.router.post('/svc/indexer/v1/task', spec)
    await cluster.router.post('/svc/simulation/v1/clock', { now: '2099-06-01T00:00:00.000Z' })
    await open('runs')
    await page.getByRole('banner').getByText('2099-06-01').waitFor()
    await page
      .getByRole('cell', { name: /^\d+ (s|min) ago$/ })
      .first()
      .waitFor()
    assert.equal(await page.getByText(/\d days ago/).count(), 0)
    for (const screen of ['Overview', 'Datasources', 'Tiers', 'Compaction', 'Access', 'SQL']) {
      await link(screen).click()
      await page.getByRole('heading', { level: 1 }).waitFor()
    }
    await link('Datasources').click()
    await link('clickstream').click()
    await page.getByRole('heading', { name: 'clickstream', exact: true }).waitFor()
    assert.deepEqual(await opened.findings(), [])
  })
})
