// The console in Chromium, over TLS and with logins, on a cluster with an imported inventory. With --update, every screen is
// saved to docs/console.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import path from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { waitUntil } from '@svc/shared/testing'
import type { Browser, Page } from 'playwright-core'
import { chromiumFile } from '../support/find-on-path.ts'
import { runSvc } from '../support/svc-command.ts'
import type { TestCluster } from '../support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { addUsers, credentialsOf } from '../support/test-users.ts'
import { checkMainFlow, editPeriod } from './main-flow.ts'
import { type ConsolePage, isInView, logIn, openBrowser, openPage } from './open-browser.ts'
import { openLink } from './open-link.ts'
import { isSettled, startSampleCluster } from './sample-cluster.ts'
import { hostileName } from './sample-inventory.ts'

const skip = chromiumFile === undefined && 'Chromium is not on PATH (Debian: apt-get install chromium)'
const rulesPath = '/svc/coordinator/v1/rules'
const pictures = path.join(repositoryRoot, 'docs/console')
const maxScriptBytes = 300_000

/** An element in the browser; tests have no types of browsers. */
interface Sized {
  readonly scrollWidth: number
  readonly clientWidth: number
}

describe('the console', { skip }, () => {
  let cluster: TestCluster
  let browser: Browser
  let dark: ConsolePage
  let page: Page
  let segmentCount = 0
  const snapshot = newTestFolder()
  const plans = newTestFolder()

  const urlOf = (screen: string): string => `${cluster.routerUrl}/console/${screen}`
  const draw = async (of: Page, name: string): Promise<void> => {
    if (process.env.SVC_DOCS_UPDATE === '1') await of.screenshot({ path: path.join(pictures, `${name}.png`) })
  }
  const settled = () => isSettled(cluster)
  const passwordOf = (name: string): string => credentialsOf(name).split(':')[1]!
  const rulesOf = (dataSource: string) =>
    cluster.router.get<{ type: string; period?: string }[]>(`${rulesPath}/${encodeURIComponent(dataSource)}`)
  const periodsIn = (rules: Awaited<ReturnType<typeof rulesOf>>) => rules.map(({ period = '' }) => period)
  const periodsOf = async (dataSource: string) => periodsIn(await rulesOf(dataSource))

  before(async () => {
    mkdirSync(pictures, { recursive: true })
    cluster = await startSampleCluster(snapshot)
    await addUsers(cluster, {
      reader: [
        { resource: { type: 'STATE', name: 'STATE' }, action: 'READ' },
        { resource: { type: 'DATASOURCE', name: '.*' }, action: 'READ' },
      ],
      narrow: [{ resource: { type: 'DATASOURCE', name: 'koalas' }, action: 'READ' }],
      nobody: [],
      leaver: [{ resource: { type: 'DATASOURCE', name: 'koalas' }, action: 'READ' }],
    })
    browser = await openBrowser()
    dark = await openPage(browser)
    page = dark.page
  })
  after(async () => {
    await browser?.close()
    await cluster?.end()
    removeTestFolder(snapshot)
    removeTestFolder(plans)
  })
  afterEach(() => {
    assert.deepEqual(dark.problems.splice(0), [])
  })

  const koalasPath = `${rulesPath}/koalas`
  const koalasFor = (period: string) => [
    { type: 'loadByPeriod', period, includeFuture: true, tieredReplicants: { cold: 1 } },
  ]

  const openWikipedia = async () => {
    await page.getByRole('link', { name: 'Datasources', exact: true }).click()
    await page.getByRole('link', { name: 'wikipedia', exact: true }).click()
    await page.getByRole('region', { name: 'Timeline' }).waitFor()
  }

  test('opens at the address of the router, and shows its own login form instead of that of the browser', async () => {
    await logIn(page, cluster.routerUrl, 'admin', cluster.adminPassword!)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/console/')
    await page.getByText('The cluster is settled').waitFor()
    const services = page.getByRole('region', { name: 'Services' })
    await services.getByRole('rowheader', { name: 'router' }).waitFor()
    await page.getByText('Nothing needs attention.').waitFor()
    const certificates = page.getByRole('region', { name: 'Certificates expire in' })
    await certificates
      .getByRole('row', { name: /coordinator/ })
      .getByText(/\d+ days/)
      .first()
      .waitFor()
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'overview')
  })

  test(`downloads at most ${maxScriptBytes / 1000} kB of scripts before the first page is shown`, async () => {
    const response = await page.request.get(urlOf(''), { headers: { Accept: 'text/html' } })
    const needed = [...(await response.text()).matchAll(/(?:src|href)="([^"]+\.js)"/g)].map(
      ([, name]) => name!,
    )
    const sizes = (await page.evaluate(`performance.getEntriesByType('resource')
      .filter(({ name }) => /\\.js$/.test(name))
      .map(({ name, encodedBodySize }) => [new URL(name).pathname, encodedBodySize])`)) as [string, number][]
    assert.ok(needed.length > 0)
    const first = sizes.filter(([name]) => needed.includes(name) || name.includes('/overview-'))
    assert.equal(first.length, needed.length + 1)
    const bytes = first.reduce((sum, [, size]) => sum + size, 0)
    assert.ok(bytes > 0 && bytes <= maxScriptBytes, `${bytes} bytes`)
  })

  test('previews the future of all datasources with the numbers of the coordinator', async () => {
    for (let month = 0; month < 3; month += 1) await page.getByRole('button', { name: '+1 month' }).click()
    const summary = page.getByText(/segments will become unqueryable/)
    await summary.waitFor()
    const [, at] = /Preview of (\S+ \S+) UTC/.exec((await page.locator('.clock').textContent())!)!
    const { _default: defaultRules } = await cluster.router.get<Record<string, object[]>>(rulesPath)
    const { json } = await cluster.router.post(`${rulesPath}/simulate`, {
      rules: {},
      defaultRules,
      now: `${at!.replace(' ', 'T')}:59Z`,
    })
    const { effects } = (json as { summary: { effects: Record<string, { segments: number }> } }).summary
    assert.ok(effects.unqueryable!.segments > 0)
    assert.match((await summary.textContent())!, new RegExp(`^${effects.unqueryable!.segments} segments`))
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'overview-future')
    for (const screen of ['Tiers', 'Datasources']) {
      await page.getByRole('link', { name: screen, exact: true }).click()
      await page.getByText(/^Preview of \d{4}/).waitFor()
      await page.locator('.page.future').waitFor()
    }
    for (const screen of ['Compaction', 'Runs', 'Access', 'Faults', 'SQL']) {
      await page.getByRole('link', { name: screen, exact: true }).click()
      await page.getByText(/^Preview of \d{4}/).waitFor()
      await page.getByText('This screen shows the current state.').waitFor()
    }
    await page.getByLabel('Days into the future').press('End')
    await page.getByText('Previews end here').waitFor()
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.getByText('Now', { exact: true }).waitFor()
  })

  test('lists datasources with the numbers of the API, and finds them with the keyboard', async () => {
    await page.keyboard.press('/')
    await page.getByRole('searchbox').pressSequentially('wiki')
    await page.getByText('1 of 5').waitFor()
    await page.getByRole('searchbox').fill('sq')
    await page.getByRole('status', { name: 'Also found' }).getByRole('link', { name: 'SQL' }).waitFor()
    await page.getByRole('searchbox').fill('hot-2')
    await page
      .getByRole('status', { name: 'Also found' })
      .getByRole('link', { name: 'hot-2.example:8083' })
      .waitFor()
    await page.keyboard.press('Enter')
    await page.locator('article.found', { hasText: 'hot-2.example:8083' }).waitFor()
    await page.goBack()
    const row = page.getByRole('row', { name: /wikipedia/ })
    await row.waitFor()
    const path = '/svc/coordinator/v1/metadata/datasources/wikipedia/segments'
    segmentCount = (await cluster.router.get<string[]>(path)).length
    assert.ok((await row.textContent())!.includes(String(segmentCount)), (await row.textContent())!)
    // The exact size is shown on hover.
    const { segments } = await cluster.router.get<{ segments: { size: number } }>(
      '/svc/coordinator/v1/datasources/wikipedia',
    )
    await row.getByTitle(`${segments.size.toLocaleString('en-US')} bytes`, { exact: true }).waitFor()
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'datasources')
  })

  test('previews an edit while it is typed, with the numbers of the coordinator', async () => {
    await openWikipedia()
    await editPeriod(page, 'P13M', 'P1Y')
    await page.getByText(/days become unqueryable/).waitFor()
    const rules = (await rulesOf('wikipedia')).map((rule) =>
      rule.period === 'P13M' ? { ...rule, period: 'P1Y' } : rule,
    )
    const { json } = await cluster.router.post(`${rulesPath}/simulate`, { rules: { wikipedia: rules } })
    const { effects, datasources } = (
      json as {
        summary: {
          effects: Record<string, { segments: number; days: number; copies: number }>
          datasources: Record<string, { tiers: Record<string, Record<string, { bytes: number }>> }>
        }
      }
    ).summary
    const review = (await page.locator('.datasource').textContent())!
    assert.ok(effects.unqueryable!.segments > 0)
    assert.ok(review.includes(`${effects.unqueryable!.segments} segments`), review)
    assert.ok(review.includes(`${effects.unqueryable!.days} days become unqueryable`), review)
    const arrow = `cold → dropped: ${effects.dropped!.copies} replicas, `
    assert.match((await page.locator('.moves text').allTextContents()).join(), new RegExp(`^${arrow}[^,]+$`))
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'datasource')
    await page.getByText('Cost per month: enter prices').click()
    await page.getByLabel('Monthly price per GiB in tier cold').fill('0.5')
    const costs = ['before', 'after'].map((side) =>
      ((datasources.wikipedia!.tiers.cold![side]!.bytes / 2 ** 30) * 0.5).toFixed(2),
    )
    await page.getByText(`${costs.join(' → ')}`).waitFor()
    assert.deepEqual(await dark.findings(), [])
    await page.getByText(/^Cost per month/).click()
  })

  test('applies a loss only after it was confirmed, and undoes it', async () => {
    const apply = page.getByRole('button', { name: 'Apply' })
    assert.ok(await apply.isDisabled())
    await page.getByLabel(/Comment/).fill('Keep one year – schön')
    await page.getByLabel(/to confirm the loss/).fill('wikipedia')
    await apply.click()
    await page.getByText('Applied.').waitFor()
    assert.deepEqual(await periodsOf('wikipedia'), ['P7D', 'P90D', 'P1Y', ''])
    const history = await cluster.router.get<{ auditInfo: { comment: string } }[]>(
      `${rulesPath}/wikipedia/history?count=1`,
    )
    assert.equal(history[0]!.auditInfo.comment, 'Keep one year – schön')
    await page.getByText('All replicas are where the rules require them.').waitFor()
    const unused = page.getByText(/^[1-9]\d* unused segments \(.*\) in deep storage cannot be queried/)
    await unused.waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone.').waitFor()
    await unused.waitFor({ state: 'detached' })
    assert.deepEqual(await periodsOf('wikipedia'), ['P7D', 'P90D', 'P13M', ''])
    await waitUntil('all segments are used again', async () => {
      const path = '/svc/coordinator/v1/metadata/datasources/wikipedia/segments'
      return (await cluster.router.get<string[]>(path)).length === segmentCount
    })
    await waitUntil('the cluster is settled', settled)
  })

  test('marks segments as used if the rules keep them, and undoes that', async () => {
    const path = '/svc/coordinator/v1/metadata/datasources/flights'
    const unusedCount = async () => (await cluster.router.get<object[]>(`${path}/unusedSegments`)).length
    const count = (await cluster.router.get<string[]>(`${path}/segments`)).length
    await cluster.router.post(`${rulesPath}/flights`, [{ type: 'dropForever' }])
    await waitUntil('the segments are unused', async () => (await unusedCount()) === count)
    await page.getByRole('link', { name: 'Datasources', exact: true }).click()
    await page.getByRole('link', { name: 'flights', exact: true }).click()
    await page.getByRole('button', { name: 'Remove rule 0' }).click()
    await page.getByText(`These rules also keep ${count} unused segments`).waitFor()
    await page.getByRole('button', { name: 'unused segments', exact: true }).click()
    await cluster.router.post(`${rulesPath}/flights`, [])
    await page.getByRole('button', { name: 'Mark segments as used if the rules keep them' }).click()
    await page.getByText(`Marked ${count} segments as used.`).waitFor()
    assert.equal(await unusedCount(), 0)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText(`Marked ${count} segments as unused.`).waitFor()
    assert.equal(await unusedCount(), count)
    // Undo stays reachable.
    await page.getByRole('link', { name: 'Tiers', exact: true }).click()
    await page.goBack()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText(`Marked ${count} segments as used.`).waitFor()
    assert.equal(await unusedCount(), 0)
    assert.deepEqual(await dark.findings(), [])
    await waitUntil('the cluster is settled', settled)
    await openWikipedia()
  })

  test('reorders, adds, removes, and discards rules with the keyboard', async () => {
    const rules = page.getByRole('region', { name: 'Rules' })
    await rules.getByRole('button', { name: /Load by period P7D/ }).focus()
    await page.keyboard.press('Alt+ArrowDown')
    await page.getByText('Preview of an unsaved edit').waitFor()
    await page.getByText(/is never reached/).waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('Preview of an unsaved edit').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Add rule' }).click()
    await page.getByText('new', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Remove rule 0' }).click()
    await page.getByText('Preview of an unsaved edit').waitFor({ state: 'detached' })
  })

  test('says what is wrong with an invalid rule, and keeps the last preview', async () => {
    await page.getByRole('button', { name: /Load by period P90D/ }).click()
    await page.getByLabel(/^Period/).fill('P9X')
    await page.getByText(/Invalid value \[P9X\]/).waitFor()
    await page.getByRole('region', { name: 'Timeline' }).waitFor()
    assert.ok(await page.getByRole('button', { name: 'Apply' }).isDisabled())
    await page.getByRole('button', { name: 'Discard' }).click()
  })

  test('previews the future, which looks different from the present', async () => {
    for (let month = 0; month < 3; month += 1) await page.getByRole('button', { name: '+1 month' }).click()
    await page.getByText(/^Preview of \d{4}/).waitFor()
    await page.getByText(/days become unqueryable/).waitFor()
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'future')
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.getByText('Now', { exact: true }).waitFor()
  })

  test('moves along and zooms the time axis with the keyboard, and explains segments', async () => {
    const axis = page.getByRole('group', { name: /Time axis/ })
    await axis.focus()
    await page.keyboard.press('End')
    await page.keyboard.press('+')
    await page.getByRole('heading', { name: 'Data by day' }).or(page.getByText('Data by')).first().waitFor()
    for (let times = 0; times < 20; times += 1) await page.keyboard.press('+')
    await page.getByRole('heading', { name: 'Data by minute' }).waitFor()
    await page.keyboard.press('0')
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await page
      .getByText(/Rule 0 applies\. hot: 2 of 2 served/)
      .first()
      .waitFor()
    const explanation = page.getByRole('region', { name: 'Explanation' })
    await explanation.getByText(/^Rule 0 \(Load by period P7D → hot ×2\) applies/).waitFor()
    await explanation.getByRole('row', { name: /hot/ }).first().waitFor()
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'why')
    await page.keyboard.press('Escape')
  })

  test('shows a second person the change of the first before anything is applied', async () => {
    const other = await openPage(browser, 'light')
    await logIn(other.page, urlOf('datasources/wikipedia'), 'admin', cluster.adminPassword!)
    await editPeriod(page, 'P90D', 'P60D')
    await editPeriod(other.page, 'P7D', 'P14D')
    /** Width of the newest band of the stored rules. */
    const newestBand = () =>
      page
        .locator('.bands:not(.future) rect')
        .last()
        .evaluate(
          (band: { getBoundingClientRect(): { width: number } }) => band.getBoundingClientRect().width,
        )
    const before = await newestBand()
    await other.page.getByRole('button', { name: 'Apply' }).click()
    await other.page.getByText('Applied.').waitFor()
    const notice = page.getByRole('alert').filter({ hasText: 'These rules changed while you were editing.' })
    await notice.waitFor()
    assert.ok(await page.getByRole('button', { name: 'Apply' }).isDisabled())
    await waitUntil('the bands of the stored rules', async () => (await newestBand()) > 1.5 * before)
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'changed-by-another')
    // The change and its buttons are in view, however the panel is scrolled.
    await page.setViewportSize({ width: 1280, height: 640 })
    for (const top of [0, 10_000]) {
      await page.locator('aside').evaluate((panel: { scrollTop: number }, to) => {
        panel.scrollTop = to
      }, top)
      assert.ok(await isInView(notice), `scrolled to ${top}`)
      for (const name of ['Keep my edit', 'Discard my edit'])
        assert.ok(await isInView(notice.getByRole('button', { name })), `${name}, scrolled to ${top}`)
    }
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.getByRole('button', { name: 'Keep my edit' }).click()
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Applied.').waitFor()
    assert.deepEqual(await periodsOf('wikipedia'), ['P7D', 'P60D', 'P13M', ''])
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone.').waitFor()
    assert.deepEqual(other.problems, [])
    await other.context.close()
  })

  test('saves an edit as a plan that ./svc apply accepts, opens it again, and refuses a damaged one', async () => {
    const before = await rulesOf('wikipedia')
    const { page: planner, context, problems, findings } = await openPage(browser)
    await logIn(planner, urlOf('datasources/wikipedia'), 'admin', cluster.adminPassword!)
    await editPeriod(planner, 'P13M', 'P15M')
    const downloading = planner.waitForEvent('download')
    await planner.getByRole('button', { name: 'Save plan' }).click()
    const download = await downloading
    const file = path.join(plans, download.suggestedFilename())
    assert.match(download.suggestedFilename(), /^plan-[0-9a-f]{16}\.json$/)
    await download.saveAs(file)
    await planner.getByRole('button', { name: 'Discard' }).click()
    await planner.getByText('was P13M').waitFor({ state: 'detached' })
    await planner.getByLabel('Plan file').setInputFiles(file)
    await planner.getByText('was P13M').waitFor()
    await planner.getByRole('button', { name: 'Discard' }).click()
    const damaged = path.join(plans, 'damaged.json')
    writeFileSync(damaged, readFileSync(file, 'utf8').replaceAll('P15M', 'P1D'))
    await planner.getByLabel('Plan file').setInputFiles(damaged)
    await planner.getByText(/The plan was edited or is damaged/).waitFor()
    assert.equal(await planner.getByText('was P13M').count(), 0)
    // A plan for another datasource is a link to it.
    await planner.getByRole('link', { name: 'Datasources', exact: true }).click()
    await planner.getByRole('link', { name: 'koalas', exact: true }).click()
    await planner.getByLabel('Plan file').setInputFiles(file)
    await planner.getByText(/The plan also changes the rules of/).waitFor()
    await planner.getByRole('link', { name: 'wikipedia', exact: true }).click()
    await planner.getByText('was P13M').waitFor()
    const applied = await runSvc('apply', file, '--yes', '--no-wait', '--home', cluster.home.root)
    assert.equal(applied.status, 0, applied.stderr)
    assert.deepEqual(await periodsOf('wikipedia'), periodsIn(before).with(2, 'P15M'))
    await planner.getByText('These rules are already stored').waitFor()
    // It says so on the screen of another datasource, too.
    const koalas = await rulesOf('koalas')
    await cluster.router.post(`${rulesPath}/wikipedia`, before.slice(1))
    await cluster.router.post(koalasPath, koalasFor('P30Y'))
    await planner.getByRole('link', { name: 'Datasources', exact: true }).click()
    await planner.getByRole('link', { name: 'flights', exact: true }).click()
    await planner.getByLabel('Plan file').setInputFiles(file)
    await planner
      .getByText(
        'This plan is outdated: the rules of koalas and wikipedia have changed since it was created.',
      )
      .waitFor()
    assert.deepEqual(await findings(), [])
    await cluster.router.post(koalasPath, koalas)
    await cluster.router.post(`${rulesPath}/wikipedia`, before)
    assert.deepEqual(problems, [])
    await context.close()
  })

  test('copies an edit as a curl command that stores it', async () => {
    const before = await rulesOf('wikipedia')
    const { page: copier, context, problems } = await openPage(browser)
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await logIn(copier, urlOf('datasources/wikipedia'), 'admin', cluster.adminPassword!)
    await editPeriod(copier, 'P13M', 'P16M')
    const comment = `It's "schön" & $HOME`
    await copier.getByLabel(/Comment/).fill(comment)
    await copier.getByRole('button', { name: 'Copy as curl' }).click()
    await copier.getByText('Copied').waitFor()
    const command = (await copier.evaluate('navigator.clipboard.readText()')) as string
    const authority = path.join(cluster.home.pki, 'authority.pem')
    assert.ok(command.startsWith(`curl -sS --cacert '${authority}' -u 'admin'`), command)
    // curl asks for the password on a terminal.
    const withPassword = command.replace("-u 'admin'", '-f -u "admin:$PASSWORD"')
    const env = { ...process.env, PASSWORD: cluster.adminPassword! }
    execFileSync('/bin/sh', ['-c', withPassword], { cwd: plans, env })
    assert.deepEqual(await periodsOf('wikipedia'), periodsIn(before).with(2, 'P16M'))
    const [last] = await cluster.router.get<{ auditInfo: { comment: string } }[]>(
      `${rulesPath}/wikipedia/history?count=1`,
    )
    assert.equal(last!.auditInfo.comment, comment)
    await cluster.router.post(`${rulesPath}/wikipedia`, before)
    assert.deepEqual(problems, [])
    await context.close()
  })

  test('shows tiers and servers', async () => {
    await page.getByRole('link', { name: 'Tiers', exact: true }).click()
    await page.getByRole('article', { name: 'hot-1.example:8083' }).waitFor()
    // A broker without broadcast segments is not one of them.
    await page.getByRole('group', { name: '9 servers' }).waitFor()
    assert.equal(await page.getByRole('article', { name: cluster.nameOf('broker') }).count(), 0)
    await page.getByRole('button', { name: 'cold', exact: true }).click()
    await page.getByRole('article', { name: 'hot-1.example:8083' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'All tiers' }).click()
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'tiers')
  })

  test('shows what awaits compaction and why, previews a configuration, applies it, and undoes it', async () => {
    await page.getByRole('link', { name: 'Compaction', exact: true }).click()
    const status = '/svc/indexer/v1/compaction/status/datasources'
    const { latestStatus } = await cluster.router.get<{
      latestStatus: { intervalCountAwaitingCompaction: number }[]
    }>(status)
    await page
      .getByText(`${latestStatus[0]!.intervalCountAwaitingCompaction} segment intervals`)
      .first()
      .waitFor()
    await page.getByRole('group', { name: /Compaction calendar/ }).focus()
    // The same intervals in the order of each policy.
    for (const policy of ['Newest segments first', 'Most fragmented intervals first'])
      await page
        .getByRole('region', { name: policy })
        .getByText(/^(Selected: \d+ task intervals? \(.*\), in this order:|No task interval is selected\.)$/)
        .waitFor()
    await page.getByRole('region', { name: 'Newest segments first' }).getByText('in use').waitFor()
    for (let week = 0; week < 5; week += 1) await page.keyboard.press('ArrowLeft')
    await page.getByRole('cell', { name: 'awaits compaction' }).first().waitFor()
    await page.getByLabel('Skip offset from latest').fill('P90D')
    await page
      .getByText(/^was \d/)
      .first()
      .waitFor()
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'compaction')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Applied.').waitFor()
    const path = '/svc/indexer/v1/compaction/config/datasources/wikipedia'
    const stored = () => cluster.router.get<{ skipOffsetFromLatest: string }>(path)
    assert.equal((await stored()).skipOffsetFromLatest, 'P90D')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Applied.').waitFor({ state: 'detached' })
    assert.equal((await stored()).skipOffsetFromLatest, 'P14D')
    await page.getByLabel('Skip offset from latest').fill('P9X')
    await page
      .getByText(/Invalid value \[P9X\]/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Discard' }).click()
    // The browser reports the status of the invalid preview.
    dark.problems.splice(0)
  })

  test('shows duty runs, tasks, and their logs', async () => {
    const spec = { type: 'kill', dataSource: 'koalas', interval: '2000-01-01/2000-01-02' }
    const { json } = await cluster.router.post('/svc/indexer/v1/task', spec)
    const { task } = json as { task: string }
    await page.getByRole('link', { name: 'Runs', exact: true }).click()
    const duties = page.getByRole('region', { name: 'Duty runs' })
    const { dutyGroups } = await cluster.router.get<{ dutyGroups: { name: string }[] }>(
      '/svc/coordinator/v1/duties',
    )
    await duties
      .getByRole('rowheader', { name: new RegExp(`^${dutyGroups[0]!.name}`) })
      .first()
      .waitFor()
    await duties.getByRole('button', { name: 'HistoricalManagementDuties' }).click()
    const runs = duties.getByRole('group', { name: 'Runs of HistoricalManagementDuties' })
    await runs
      .getByText(/runs? with nothing to do/)
      .first()
      .waitFor()
    const koalas = await rulesOf('koalas')
    await cluster.router.post(koalasPath, koalasFor('P30Y'))
    // Nothing was in this tier before, so this run loads a replica of each of the 30 segments.
    await runs.getByRole('row', { name: /ms 30 30 30 0 0 30 loads$/ }).waitFor()
    await cluster.router.post(koalasPath, koalas)
    await waitUntil('the cluster is settled', settled)
    await page.getByRole('button', { name: task }).click()
    await page
      .getByRole('row', { name: new RegExp(`${task}.* (waiting|pending|running|succeeded|failed)`) })
      .waitFor()
    await page.getByRole('heading', { name: 'Log', exact: true }).waitFor()
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'runs')
    // The log of a task is missing until it starts.
    dark.problems.splice(0)
  })

  test('shows who may do what and why, and gives a user access to one datasource', async () => {
    await page.getByRole('link', { name: 'Access', exact: true }).click()
    await page.getByRole('button', { name: 'nobody', exact: true }).click()
    await page.getByLabel('Datasource').selectOption('koalas')
    await page.getByText('Creates the role read koalas, and assigns it to nobody.').waitFor()
    await page.getByRole('button', { name: 'Give access' }).click()
    await page.getByText('nobody can now read koalas.').waitFor()
    await page.getByRole('row', { name: /nobody, read koalas|read koalas, nobody/ }).waitFor()
    await page.getByLabel('User', { exact: true }).fill('nobody')
    await page.getByLabel('Path').fill('/svc/coordinator/v1/rules/koalas')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByText('Allowed.', { exact: true }).waitFor()
    await page.getByText(/READ on DATASOURCE koalas from read koalas: grants it/).waitFor()
    assert.deepEqual(await dark.findings(), [])
    await page.getByRole('heading', { name: 'Access', exact: true }).scrollIntoViewIfNeeded()
    await draw(page, 'access')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone.').waitFor()
    await page.getByRole('button', { name: 'Explain' }).click()
    const at = '/proxy/coordinator/svc-ext/basic-security/authorization/db/MyBasicMetadataAuthorizer'
    assert.deepEqual((await cluster.router.get<string[]>(`${at}/roles`)).includes('read koalas'), false)
  })

  test('creates, changes, and deletes a user', async () => {
    await page.getByLabel('Name', { exact: true }).fill('carol')
    await page.getByLabel('Password', { exact: true }).fill('a-password-of-tests')
    await page.getByRole('button', { name: 'Create user' }).click()
    await page.getByText('carol can now log in, but has no permissions yet.').waitFor()
    await page.getByRole('checkbox', { name: 'reader' }).click()
    await page.getByText('Added permissions:').waitFor()
    await page.getByText('READ on STATE STATE').waitFor()
    assert.deepEqual(await dark.findings(), [])
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('carol now has the role reader.').waitFor()
    await page.getByLabel('New password').fill('another-password')
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByText('Changed the password of carol.').waitFor()
    const caller = { path: '/svc/router/v1/caller', credentials: 'carol:another-password' }
    assert.equal((await cluster.router.send(caller)).status, 200)
    await page.getByText('Delete this user').click()
    await page.getByLabel(/to confirm/).fill('carol')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('Deleted user carol.').waitFor()
    await page.getByRole('button', { name: 'carol', exact: true }).waitFor({ state: 'detached' })
  })

  test('creates, edits, and deletes a role and a group mapping, and undoes that', async () => {
    const at = '/proxy/coordinator/svc-ext/basic-security/authorization/db/MyBasicMetadataAuthorizer'
    const permissionsOf = async (role: string) =>
      (await cluster.router.get<{ permissions: { resourceAction: object }[] }>(`${at}/roles/${role}`))
        .permissions.length
    await page.getByRole('button', { name: 'New role…' }).click()
    await page.getByLabel('Name', { exact: true }).fill('analysts')
    await page.getByLabel('Name of resource 1').fill('wiki.*')
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('link', { name: 'new role' }).click()
    await page.getByRole('button', { name: 'Create role' }).click()
    await page.getByText('Created the role analysts.').waitFor()
    await page.getByRole('heading', { name: 'Role analysts' }).waitFor()
    await page.getByRole('button', { name: 'Add permission' }).click()
    await page.getByLabel('Type of resource 2').selectOption('STATE')
    await page.getByText('Added: READ on STATE').waitFor()
    assert.deepEqual(await dark.findings(), [])
    // Edits outlive the screen, and the page says where they are.
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('link', { name: 'role analysts' }).click()
    await page.getByText('Added: READ on STATE').waitFor()
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Changed the permissions of the role analysts.').waitFor()
    assert.equal(await permissionsOf('analysts'), 2)
    await page.getByRole('button', { name: 'New group mapping…' }).click()
    await page.getByLabel('Name', { exact: true }).fill('staff')
    await page.getByLabel('Groups of the LDAP directory').fill('staff')
    assert.ok(await page.getByRole('button', { name: 'Create group mapping' }).isDisabled())
    await page.getByLabel('Groups of the LDAP directory').fill('cn=staff,dc=example')
    await page.getByRole('checkbox', { name: 'analysts' }).check()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('link', { name: 'new group mapping' }).click()
    await page.getByRole('button', { name: 'Create group mapping' }).click()
    await page.getByText('Created the group mapping staff.').waitFor()
    await page.getByRole('row', { name: 'staff cn=staff,dc=example analysts' }).waitFor()
    await page.getByRole('button', { name: 'role analysts' }).click()
    await page.getByText('staff (group mapping)').waitFor()
    await page.getByRole('button', { name: 'Delete this role…' }).click()
    await page.getByText('1 group mapping loses the permissions of this role.').waitFor()
    await page.getByRole('button', { name: 'Delete role' }).click()
    await page.getByText('Deleted the role analysts.').waitFor()
    await page.getByRole('row', { name: 'staff cn=staff,dc=example none' }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone.').waitFor()
    await page.getByRole('row', { name: 'staff cn=staff,dc=example analysts' }).waitFor()
    assert.equal(await permissionsOf('analysts'), 2)
    await page.getByRole('button', { name: 'group mapping staff' }).click()
    await page.getByRole('button', { name: 'Delete this group mapping…' }).click()
    await page.getByRole('button', { name: 'Delete group mapping' }).click()
    await page.getByText('Deleted the group mapping staff.').waitFor()
    assert.deepEqual(await cluster.router.get(`${at}/groupMappings`), [])
  })

  test('shows a second administrator the changes of the first, which neither edits nor undo overwrite', async () => {
    const at = '/proxy/coordinator/svc-ext/basic-security/authorization/db/MyBasicMetadataAuthorizer'
    const role = `${at}/roles/shared`
    const read = (name: string) => [{ resource: { type: 'DATASOURCE', name }, action: 'READ' }]
    const store = (name: string) => cluster.router.post(`${role}/permissions`, read(name))
    const stored = async () =>
      (
        await cluster.router.get<{ resource: { name: string } }[]>(`${role}/permissions?simplifyPermissions`)
      ).map(({ resource }) => resource.name)
    const name = page.getByLabel('Name of resource 1')
    const apply = page.getByRole('button', { name: 'Apply' })
    const changed = page.getByText('Changed the permissions of the role shared.')
    await cluster.router.post(role, undefined)
    await store('first')
    await page.getByRole('button', { name: 'role shared' }).click()
    await name.fill('mine')
    // The page may not know this change yet.
    await store('other')
    await apply.click({ timeout: 5000 }).catch(() => undefined)
    await page.getByText('These permissions changed while you were editing.').waitFor()
    await page.getByText('+ READ on DATASOURCE other').waitFor()
    await page.getByText('− READ on DATASOURCE first').waitFor()
    assert.deepEqual(await stored(), ['other'])
    assert.deepEqual(await dark.findings(), [])
    await page.getByRole('button', { name: 'Keep my edit and replace these permissions' }).click()
    await apply.click()
    await changed.waitFor()
    assert.deepEqual(await stored(), ['mine'])
    await store('other')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('This has changed again since then, so nothing was undone.').waitFor()
    assert.deepEqual(await stored(), ['other'])
    // A role that another person deletes is created again if the edit is kept.
    await name.fill('kept')
    await cluster.router.send({ method: 'DELETE', path: role })
    await apply.click({ timeout: 5000 }).catch(() => undefined)
    await page.getByText('− READ on DATASOURCE other').waitFor()
    await page.getByRole('button', { name: 'Keep my edit and replace these permissions' }).click()
    await apply.click()
    await changed.waitFor()
    assert.deepEqual(await stored(), ['kept'])
    await cluster.router.post(`${at}/users/narrow/roles/shared`, undefined)
    // Otherwise, the page would delete a role that it shows without this user.
    await page.getByRole('button', { name: 'Delete this role…' }).click()
    await page.getByText('1 user loses the permissions of this role.').waitFor()
    await page.getByRole('button', { name: 'Delete role' }).click()
    await page.getByText('Deleted the role shared.').waitFor()
    // The browser reports the status of requests for a role that does not exist.
    dark.problems.splice(0)
  })

  test('shows the certificates of all servers, and the calls between them', async () => {
    const certificates = page.getByRole('region', { name: 'Certificates' })
    const { servers } = await cluster.router.get<{ servers: { role: string; server: string }[] }>(
      '/svc/coordinator/v1/certificates',
    )
    assert.equal(servers.length, 5)
    for (const { role, server } of servers)
      await certificates.getByRole('row', { name: new RegExp(`^${role} ${server} CN=.* valid$`) }).waitFor()
    await certificates.getByRole('row', { name: /^trusted authority CN=/ }).waitFor()
    const calls = page.getByRole('region', { name: 'Calls between servers' })
    // One row, however often the historical reports.
    const reports = calls.getByRole('row', { name: /^historical .* coordinator .* svc_system POST .*report/ })
    assert.equal(await reports.count(), 1)
    await calls.getByLabel('Only requests that failed').check()
    await calls
      .getByText('No request failed.')
      .or(calls.getByRole('row', { name: /[1-9]\d*$|:\d\d$/ }))
      .first()
      .waitFor()
  })

  test('explains servers, tasks, and refused requests', async () => {
    await page.getByRole('link', { name: 'Tiers', exact: true }).click()
    await page.getByRole('button', { name: 'Why? hot-1.example:8083' }).click()
    const path = '/svc/coordinator/v1/servers/hot-1.example%3A8083/explain'
    const { sentences } = await cluster.router.get<{ sentences: string[] }>(path)
    const dialog = page.getByRole('dialog')
    await dialog.getByText(sentences[0]!.split(':').slice(0, 2).join(':')).waitFor()
    assert.deepEqual(await dark.findings(), [])
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page
      .getByRole('article', { name: 'hot-1.example:8083' })
      .getByText(/^loads .*\/s$/)
      .waitFor()

    const { json } = await cluster.router.post('/svc/indexer/v1/task', {
      type: 'kill',
      dataSource: 'koalas',
      interval: '2000-01-01/2000-01-02',
    })
    const { task } = json as { task: string }
    await page.getByRole('link', { name: 'Runs', exact: true }).click()
    await page.getByRole('button', { name: task }).click()
    // An imported cluster has no task slots.
    await page
      .getByRole('list', { name: 'Why' })
      .getByText(/No server has task slots|The task/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Shut down…' }).click()
    await page.getByText('Shut down this task? Its work will be lost.').waitFor()
    await page.getByRole('button', { name: 'Shut down', exact: true }).click()
    await page.getByText(/^kill task for koalas, failed/).waitFor()
    dark.problems.splice(0)

    const nobody = { path: '/svc/coordinator/v1/servers', credentials: credentialsOf('nobody') }
    assert.equal((await cluster.router.send(nobody)).status, 403)
    await page.getByRole('link', { name: 'Access', exact: true }).click()
    await page.getByLabel('Show').selectOption('missing permissions')
    const refused = page.getByRole('row', {
      name: /missing permission nobody GET \/svc\/coordinator\/v1\/servers /,
    })
    await refused.first().getByRole('link', { name: 'Why?' }).click()
    await page.getByText('Not allowed.', { exact: true }).waitFor()
    await page.getByText('/svc/coordinator/v1/servers requires READ on STATE').waitFor()
  })

  test('explains failed logins and refused handshakes', async () => {
    const guess = { path: '/status', credentials: 'nobody:not-the-password' }
    assert.equal((await cluster.router.send(guess)).status, 401)
    const { port, hostname } = new URL(cluster.router.url)
    // Plain HTTP on a TLS port.
    const plain = connect(Number(port), hostname)
    plain.on('error', () => undefined)
    plain.end('GET / HTTP/1.1\r\n\r\n')
    await page.getByRole('link', { name: 'Access', exact: true }).click()
    await page.getByLabel('Show').selectOption('failed logins')
    const event = page.getByRole('row', { name: /^.* failed login .*nobody.* stores a password for/ })
    await event.first().getByRole('link', { name: 'Why?' }).click()
    const dialog = page.getByRole('dialog', { name: 'Why was this request refused?' })
    await dialog.getByText('WRONG_PASSWORD.').waitFor()
    await dialog.getByText(/stores a password for \[nobody\], but the request has a different one/).waitFor()
    assert.deepEqual(await dark.findings(), [])
    await dialog.getByRole('link', { name: 'What would the cluster decide now?' }).click()
    await page.getByText('/status requires READ on STATE').waitFor()
    const refusals = page.getByRole('region', { name: 'Failed logins and TLS handshakes' })
    await refusals
      .getByRole('row', { name: /nobody GET \/status WRONG_PASSWORD .* to the router/ })
      .first()
      .waitFor()
    await refusals
      .getByRole('row', { name: /ERR_SSL_/ })
      .first()
      .getByRole('button', { name: 'Why?' })
      .click()
    const handshake = page.getByRole('dialog', { name: 'Why was this handshake refused?' })
    await handshake.getByText('The handshake failed before the client sent a certificate').waitFor()
    assert.deepEqual(await dark.findings(), [])
    await handshake.getByRole('button', { name: 'Close' }).click()
  })

  test('finds servers, tasks, and users with the keyboard', async () => {
    const [task] = await cluster.router.get<{ id: string }[]>('/svc/indexer/v1/tasks?max=1')
    const also = page.getByRole('status', { name: 'Also found' })
    const find = async (text: string): Promise<void> => {
      await page.keyboard.press('/')
      await page.getByRole('searchbox').fill(text)
    }
    await find(task!.id.slice(1))
    await also.getByRole('link', { name: task!.id }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: task!.id }).waitFor()
    await find('nobod')
    await also.getByRole('link', { name: 'nobody' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'User nobody' }).waitFor()
    // Arrow keys walk from the field through datasources to the rest, and back.
    await find('koala')
    await also.getByRole('link', { name: task!.id }).waitFor()
    const focused = () => page.evaluate('document.activeElement.textContent') as Promise<string>
    const walked: string[] = []
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowUp']) {
      await page.keyboard.press(key)
      walked.push(await focused())
    }
    assert.deepEqual([walked[0], walked[2], walked[3]], ['koalas', 'koalas', ''])
    assert.match(walked[1]!, /^kill_koalas_/)
    assert.deepEqual(await dark.findings(), [])
    // The log of a task is missing until it starts.
    dark.problems.splice(0)
  })

  test('says on any screen that a request was refused, and why', async () => {
    const other = await openPage(browser)
    await other.page.route('**/svc/coordinator/v1/rules/koalas/history*', async (request) => {
      const errorMessage = 'Missing permission [READ] on [DATASOURCE] [koalas]'
      await request.fulfill({ status: 403, json: { errorMessage } })
    })
    await logIn(other.page, urlOf('datasources/koalas'), 'admin', cluster.adminPassword!)
    const bar = other.page.getByRole('alert').filter({ hasText: 'Refused:' })
    await bar.getByText('Missing permission [READ] on [DATASOURCE] [koalas]').waitFor()
    await bar.getByRole('link', { name: 'Why?' }).click()
    await other.page.getByText('Allowed.', { exact: true }).waitFor()
    await bar.waitFor({ state: 'detached' })
    assert.deepEqual(await other.findings(), [])
    await other.context.close()
  })

  test('injects a fault between two servers, shows how the cluster recovers, and ends the fault', async (t) => {
    const path = '/svc/simulation/v1/faults'
    t.after(async () => {
      await cluster.router.send({ method: 'DELETE', path })
    })
    await page.getByRole('link', { name: 'Faults', exact: true }).click()
    await page.setViewportSize({ width: 1280, height: 900 })
    const frame = page.locator('.topology-frame')
    await frame.waitFor()
    const [needed, available] = (await frame.evaluate((one: Sized) => [
      one.scrollWidth,
      one.clientWidth,
    ])) as [number, number]
    assert.ok(needed <= available, `${needed} of ${available} pixels`)
    await page.getByRole('button', { name: /^virtual servers / }).waitFor()
    assert.equal(await page.getByText(/servers are back\.$/).count(), 0)
    await page.setViewportSize({ width: 1440, height: 900 })
    const reports = page.getByRole('button', { name: /^Calls from historical .* to coordinator / })
    await reports.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Cut off' }).click()
    await page.getByLabel('For').selectOption('5 min')
    await page.getByRole('button', { name: 'Inject fault' }).click()
    const faults = page.getByRole('region', { name: 'Active faults' })
    await faults.getByRole('row', { name: /^cut off calls from .* left/ }).waitFor()
    const [fault] = await cluster.router.get<{ kind: string; from: string; target: string }[]>(path)
    assert.equal(fault!.kind, 'cut')
    assert.deepEqual([fault!.from, fault!.target], ['historical-1', 'coordinator'].map(cluster.nameOf))
    // Its virtual servers no longer report.
    await page.getByRole('button', { name: /^virtual servers .*9 missing/ }).waitFor()
    await page
      .getByText(/servers? .*(is|are) missing\.$/)
      .first()
      .waitFor()
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'faults')
    await faults.getByRole('button', { name: /^Clear: / }).click()
    await page.getByRole('button', { name: /^virtual servers .* missing/ }).waitFor({ state: 'detached' })
    await page
      .getByText(/servers? .*(is|are) back\.$/)
      .first()
      .waitFor()
    await page.getByText('The cluster is settled. Every segment is served.').waitFor()
    assert.deepEqual(await cluster.router.get(path), [])
    // A server can be killed, too.
    await page.getByRole('button', { name: /^broker / }).click()
    await page.getByRole('button', { name: 'Kill', exact: true }).click()
    await page.getByText('Its process is killed, and restarts.').waitFor()
    // The browser reports the status of requests while the leader did not know the cluster.
    dark.problems.splice(0)
  })

  test('explains on which clusters faults can be injected, and who may inject them', async () => {
    const other = await openPage(browser)
    await logIn(other.page, urlOf('faults'), 'reader', passwordOf('reader'))
    await other.page.getByText('Injecting faults requires WRITE on STATE.').waitFor()
    // As on a cluster that is not a simulation.
    await other.page.route('**/svc/router/v1/caller*', async (request) => {
      const response = await request.fetch()
      await request.fulfill({ response, json: { ...(await response.json()), simulation: false } })
    })
    await logIn(other.page, urlOf('faults'), 'reader', passwordOf('reader'))
    await other.page.getByText('Faults can be injected only into a simulation').waitFor()
    assert.equal(await other.page.getByRole('link', { name: 'Faults' }).count(), 0)
    assert.deepEqual(await other.findings(), [])
    assert.deepEqual(other.problems, [])
    await other.context.close()
  })

  test('runs SQL, shows the result as a table, and says why a query fails', async () => {
    await page.getByRole('link', { name: 'SQL', exact: true }).click()
    await page.getByLabel('Query').fill("SELECT 1 + 1 AS two, 'a' AS letter, NULL AS nothing")
    await page.keyboard.press('Control+Enter')
    await page.getByRole('cell', { name: '2', exact: true }).waitFor()
    await page.getByText(/^1 row in [\d,]+ ms$/).waitFor()
    const outdated = page.locator('.outdated').getByRole('group', { name: 'Result' })
    assert.equal(await outdated.count(), 0)
    // A cluster with an imported inventory has no rows, but it knows its segments.
    const sizes = 'SELECT datasource, COUNT(*) AS segments, SUM("size") AS bytes FROM sys.segments'
    await page.getByLabel('Query').fill(`${sizes}\nGROUP BY datasource\nORDER BY bytes DESC`)
    await outdated.waitFor()
    await page.getByText(/^1 row in [\d,]+ ms, of an earlier query$/).waitFor()
    await page.keyboard.press('Control+Enter')
    await page.getByRole('cell', { name: 'wikipedia', exact: true }).waitFor()
    assert.equal(await outdated.count(), 0)
    assert.deepEqual(await dark.findings(), [])
    await draw(page, 'sql')
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download as CSV' }).click()
    assert.equal((await downloading).suggestedFilename(), 'result.csv')
    await page.getByLabel('Query').fill('SELEC')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByRole('alert').waitFor()
    await outdated.waitFor()
    const forever = 'SELECT COUNT(*) FROM sys.segments a, sys.segments b, sys.segments c, sys.segments d'
    await page.getByLabel('Query').fill(`${forever} WHERE a.size + b.size * c.size - d.size = 7`)
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('Running…').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Canceled.').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Run' }).isEnabled())
    dark.problems.splice(0)
  })

  test('shows hostile names as text', async () => {
    await page.goto(urlOf(''))
    await logIn(
      page,
      urlOf(`datasources/${encodeURIComponent(hostileName)}`),
      'admin',
      cluster.adminPassword!,
    )
    await page.getByRole('heading', { name: /<img src=x/ }).waitFor()
    await page.getByRole('region', { name: 'Timeline' }).waitFor()
    assert.equal(await page.locator('img').count(), 0)
    assert.ok(!(await page.locator('h1').textContent())!.includes('\u202e'))
    await page.goto(urlOf('datasources/no%2Fsuch'))
    await logIn(page, page.url(), 'admin', cluster.adminPassword!)
    await page
      .getByText(/No data yet|No used segments|Failed to load/)
      .first()
      .waitFor()
    // Requests for this name are refused, some of them later.
    await page.goto('about:blank')
    dark.problems.splice(0)
  })

  test('is readable at 200% in a window of 1280 pixels, without scrolling sideways', async () => {
    const zoomed = await openPage(browser)
    await zoomed.page.setViewportSize({ width: 640, height: 400 })
    const longTier = 'a-tier-with-a-name-that-is-much-longer-than-anyone-needs'
    await zoomed.page.route('**/coordinator/v1/servers?simple', async (route) => {
      const response = await route.fetch()
      const servers = (await response.json()) as { tier: string }[]
      await route.fulfill({
        response,
        json: servers.map((server) => (server.tier === 'hot' ? { ...server, tier: longTier } : server)),
      })
    })
    await logIn(zoomed.page, urlOf('datasources/wikipedia'), 'admin', cluster.adminPassword!)
    await zoomed.page.getByRole('region', { name: 'Timeline' }).waitFor()
    const wide: string[] = []
    const check = async (screen: string): Promise<void> => {
      await zoomed.page.getByRole('heading', { level: 1, name: /^(?!Loading)/ }).waitFor()
      await zoomed.page.locator('main').locator('table, textarea, svg').first().waitFor()
      const width = (await zoomed.page.evaluate('document.documentElement.scrollWidth')) as number
      if (width > 640) wide.push(`${screen}: ${width} pixels`)
      wide.push(...(await zoomed.findings()).map((finding) => `${screen}: ${finding}`))
    }
    await check('a datasource')
    const names = await zoomed.page
      .getByRole('navigation', { name: 'Screens' })
      .getByRole('link')
      .allTextContents()
    for (const name of names) {
      await zoomed.page.getByRole('link', { name, exact: true }).click()
      await check(name)
      if (name === 'Tiers') {
        const card = zoomed.page.getByRole('article', { name: 'hot-1.example:8083' })
        const host = card.locator('.host')
        assert.equal(await host.evaluate((one: Sized) => one.scrollWidth > one.clientWidth), false)
        await card.getByTitle(longTier).waitFor()
      }
      if (name === 'Runs') {
        const duties = zoomed.page.getByRole('region', { name: 'Duty runs' })
        await duties.getByRole('button', { name: 'HistoricalManagementDuties' }).click()
        await duties.getByRole('group', { name: 'Runs of HistoricalManagementDuties' }).waitFor()
        assert.equal(await duties.evaluate((one: Sized) => one.scrollWidth > one.clientWidth), false)
      }
      if (name === 'Faults') {
        const boxes = await zoomed.page.locator('.topology .box').all()
        const columns = await Promise.all(boxes.map(async (box) => (await box.boundingBox())!))
        for (const [at, a] of columns.entries())
          for (const b of columns.slice(at + 1))
            assert.ok(
              a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y,
              'two boxes cover each other',
            )
      }
    }
    assert.deepEqual(wide, [])
    await zoomed.context.close()
  })

  test('is accessible in the light theme', async () => {
    const light = await openPage(browser, 'light')
    await logIn(light.page, urlOf('datasources/wikipedia'), 'admin', cluster.adminPassword!)
    await editPeriod(light.page, 'P13M', 'P1Y')
    await light.page.getByText(/days become unqueryable/).waitFor()
    assert.deepEqual(await light.findings(), [])
    await draw(light.page, 'datasource-light')
    await light.page.goto(urlOf(''))
    await logIn(light.page, urlOf(''), 'admin', cluster.adminPassword!)
    await light.page.getByText('The cluster is settled').waitFor()
    assert.deepEqual(await light.findings(), [])
    await light.page.getByRole('link', { name: 'Tiers', exact: true }).click()
    await light.page.getByRole('button', { name: /fails: hot-1/ }).click()
    await light.page.getByText(/^What if hot-1/).waitFor()
    await light.page.getByText(/At the measured rates, that takes at least \d+ s/).waitFor()
    assert.deepEqual(await light.findings(), [])
    await light.page.getByRole('link', { name: 'Compaction', exact: true }).click()
    await light.page.getByRole('group', { name: /Compaction calendar/ }).waitFor()
    assert.deepEqual(await light.findings(), [])
    assert.deepEqual(light.problems, [])
    await light.context.close()
  })

  test('offers a user only what they may do, and sends no request that is refused', async () => {
    const { page: limited, context, problems, findings } = await openPage(browser)
    const logInAs = async (name: string, screen: string) => {
      await limited.goto(urlOf(screen))
      await logIn(limited, urlOf(screen), name, passwordOf(name))
    }
    const screens = limited.getByRole('navigation', { name: 'Screens' }).getByRole('link')
    const openAll = async (expected: readonly string[]) => {
      await limited.getByRole('heading', { level: 1 }).waitFor()
      assert.deepEqual(await screens.allTextContents(), expected)
      for (const name of expected) {
        await limited.getByRole('link', { name, exact: true }).click()
        await limited.getByRole('heading', { level: 1 }).waitFor()
        assert.deepEqual(await findings(), [], name)
      }
    }
    await logInAs('reader', 'datasources/wikipedia')
    await editPeriod(limited, 'P13M', 'P1Y')
    await limited.getByText(/requires WRITE on the datasource/).waitFor()
    assert.equal(await limited.getByRole('button', { name: 'Apply' }).count(), 0)
    await limited.keyboard.press('Escape')
    await limited.keyboard.press('Escape')
    await openAll(['Overview', 'Datasources', 'Tiers', 'Compaction', 'Runs', 'Faults', 'SQL'])
    await logInAs('narrow', 'datasources')
    const row = limited.getByRole('row', { name: /koalas/ })
    await row.getByRole('cell', { name: '30', exact: true }).waitFor()
    const also = limited.getByRole('status', { name: 'Also found' })
    await limited.getByRole('searchbox').fill('a')
    await also
      .getByRole('link', { name: /^kill_koalas_/ })
      .first()
      .waitFor()
    assert.equal(await also.getByText(/^(Servers|Users)$/).count(), 0)
    await limited.getByRole('searchbox').fill('koala')
    await row.getByRole('link', { name: 'koalas' }).click()
    await limited.getByRole('region', { name: 'Timeline' }).waitFor()
    assert.equal(await limited.getByText('wikipedia').count(), 0)
    await openAll(['Overview', 'Datasources', 'Compaction', 'Runs', 'SQL'])
    await limited.route('**/datasources/koalas/loadstatus?simple', (route) =>
      route.fulfill({ json: { koalas: 3 } }),
    )
    await limited.getByRole('link', { name: 'Overview', exact: true }).click()
    await limited.getByText(/^You can read 1 datasource with 30 served segments \(.*\)\.$/).waitFor()
    await limited.getByText(/ tasks? of this datasource (is|are) running/).waitFor()
    await limited.getByText(/because they require READ on STATE\.$/).waitFor()
    await limited.getByRole('listitem').filter({ hasText: 'koalas: 3 segments not served' }).waitFor()
    assert.deepEqual(await findings(), [])
    await limited.getByRole('link', { name: 'Runs', exact: true }).click()
    await limited.getByRole('heading', { name: 'Runs and tasks' }).waitFor()
    assert.equal(await limited.getByText('Ingest a file').count(), 0)
    await logInAs('nobody', 'datasources')
    await limited.getByRole('heading', { name: 'You cannot read any datasource' }).waitFor()
    await limited.getByRole('searchbox').fill('a')
    assert.equal(await also.count(), 0)
    await openAll(['Overview', 'Datasources'])
    await limited.getByRole('link', { name: 'Overview' }).click()
    await limited.getByText('You cannot read everything in this cluster').waitFor()
    await limited.getByText('There are no datasources that you can read.').waitFor()
    assert.equal(await limited.getByRole('region', { name: 'Services' }).count(), 0)
    for (const screen of ['tiers', 'datasources/wikipedia']) {
      await logInAs('nobody', screen)
      await limited.getByText(/requires READ on (STATE|DATASOURCE wikipedia)\./).waitFor()
    }
    for (const screen of ['compaction', 'compaction/koalas', 'sql']) {
      await logInAs('nobody', screen)
      await limited.getByText('This screen requires READ on a datasource.').waitFor()
    }
    await logInAs('nobody', 'runs')
    await limited.getByText('This screen requires READ on STATE, or READ or WRITE on a datasource.').waitFor()
    assert.deepEqual(problems, [])
    await context.close()
  })

  test('keeps an edit for a user who logs out and in again, and shows nothing in between', async () => {
    await logIn(page, urlOf('datasources/wikipedia'), 'admin', cluster.adminPassword!)
    await editPeriod(page, 'P13M', 'P14M')
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByText('Log in again to continue your unsaved edits').waitFor()
    assert.equal(await page.getByText('wikipedia').count(), 0)
    await page.getByLabel('Password').fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('Wrong name or password.').waitFor()
    await page.getByLabel('Password').fill(cluster.adminPassword!)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('was P13M').waitFor()
    await page.getByRole('button', { name: 'Discard' }).click()
    // The browser reports the status of the wrong password.
    dark.problems.splice(0)
  })

  test('shows a lost connection, and then catches up with the changes by itself', async (context) => {
    const link = await openLink(context, cluster.routerUrl)
    const other = await openPage(browser)
    await logIn(other.page, `${link.url}/console/datasources/koalas`, 'admin', cluster.adminPassword!)
    await other.page.getByRole('region', { name: 'Timeline' }).waitFor()
    link.cut()
    await other.page.getByText(/^No connection, last update/).waitFor()
    assert.deepEqual(await other.findings(), [])
    await cluster.router.post(koalasPath, koalasFor('P20Y'))
    link.restore()
    await other.page.getByText(/^No connection/).waitFor({ state: 'detached' })
    await other.page.getByRole('button', { name: /Load by period P20Y/ }).waitFor()
    // A change arrives without a reload.
    await cluster.router.post(koalasPath, koalasFor('P21Y'))
    await other.page.getByRole('button', { name: /Load by period P21Y/ }).waitFor()
    await other.context.close()
  })

  test('sends a user only the changes of datasources that the user may read', async () => {
    const narrow = await openPage(browser)
    await logIn(narrow.page, urlOf('datasources/koalas'), 'narrow', passwordOf('narrow'))
    await narrow.page.getByRole('button', { name: /Load by period P21Y/ }).waitFor()
    // As text, because tests have no types of browsers.
    const readUntil = (since: string, end: string): Promise<string> =>
      narrow.page.evaluate(`(async () => {
        const headers = { Authorization: 'Basic ' + btoa(${JSON.stringify(credentialsOf('narrow'))}) }
        const response = await fetch('/svc/coordinator/v1/changes${since}', { headers, credentials: 'omit' })
        const reader = response.body.getReader()
        let text = ''
        while (!text.includes(${JSON.stringify(end)})) {
          const { done, value } = await reader.read()
          if (done) break
          text += new TextDecoder().decode(value)
        }
        await reader.cancel()
        return text
      })()`)
    const [, id] = /^id: (\S+)$/m.exec(await readUntil('', '\n\n'))!
    const wikipedia = await rulesOf('wikipedia')
    await cluster.router.post(`${rulesPath}/wikipedia`, [...wikipedia, { type: 'loadForever' }])
    await cluster.router.post(`${rulesPath}/wikipedia`, wikipedia)
    await cluster.router.post(koalasPath, koalasFor('P22Y'))
    const events = await readUntil(`?since=${id}`, 'koalas')
    assert.ok(events.includes('"koalas"'), events)
    assert.ok(!events.includes('wikipedia'), events)
    assert.ok(!events.includes('servers'), events)
    await narrow.page.getByRole('button', { name: /Load by period P22Y/ }).waitFor()
    await cluster.router.post(koalasPath, [])
    assert.deepEqual(narrow.problems, [])
    await narrow.context.close()
  })

  test('shows its login form once the cluster no longer accepts the login of a page', async (context) => {
    const link = await openLink(context, cluster.routerUrl)
    const leaver = await openPage(browser)
    await logIn(leaver.page, `${link.url}/console/datasources/koalas`, 'leaver', passwordOf('leaver'))
    await leaver.page.getByRole('region', { name: 'Timeline' }).waitFor()
    await leaver.page.getByRole('button', { name: 'Add rule' }).click()
    await leaver.page.getByText('Preview of an unsaved edit').waitFor()
    const at = '/proxy/coordinator/svc-ext/basic-security/authentication/db/MyBasicMetadataAuthenticator'
    const compaction = () =>
      leaver.page.waitForResponse((one) => one.url().includes('/compaction/status/') && one.ok())
    await cluster.router.post(`${at}/users/leaver/credentials`, { password: 'another-password' })
    // The stream starts again after a change to users, which the cluster refuses.
    await leaver.page.getByText('nothing you edited is lost').waitFor()
    assert.equal(await leaver.page.evaluate('document.activeElement.name'), 'password')
    // The second one closes most dialogs.
    for (let press = 0; press < 2; press += 1) await leaver.page.keyboard.press('Escape')
    for (const password of ['wrong', 'another-password']) {
      await leaver.page.getByLabel('Password').fill(password)
      const repeated = password === 'wrong' ? undefined : compaction()
      await leaver.page.getByRole('button', { name: 'Log in' }).click()
      if (repeated === undefined) await leaver.page.getByText('Wrong name or password.').waitFor()
      else await repeated
    }
    await leaver.page.getByRole('dialog').waitFor({ state: 'detached' })
    await leaver.page.getByRole('region', { name: 'Timeline' }).waitFor()
    await leaver.page.getByText('Preview of an unsaved edit').waitFor()
    await leaver.context.close()
  })

  test('edits and reviews imported rules, moves the clock by 90 days, and applies them, in under a minute', async () => {
    const flow = await openPage(browser)
    await checkMainFlow(flow.page, cluster)
    assert.deepEqual(flow.problems, [])
    await flow.context.close()
  })
})
