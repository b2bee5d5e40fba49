// Every screen of the console, and everything that it writes, in Chromium with the keyboard alone: Tab reaches each control, and
// the control that has the focus is visible.

import assert from 'node:assert/strict'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { waitUntil } from '@svc/shared/testing'
import type { Browser, Locator, Page } from 'playwright-core'
import { chromiumFile } from '../support/find-on-path.ts'
import type { TestCluster } from '../support/test-cluster.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { addUsers } from '../support/test-users.ts'
import { isFocused, isInView, openBrowser, openPage } from './open-browser.ts'
import { startSampleCluster } from './sample-cluster.ts'

const skip = chromiumFile === undefined && 'Chromium is not on PATH (Debian: apt-get install chromium)'
const rulesPath = '/svc/coordinator/v1/rules'
const compactionPath = '/svc/indexer/v1/compaction/config'
const supervisorPath = '/svc/indexer/v1/supervisor'
const maxPresses = 200

/** An element in the browser; tests have no types of browsers. */
interface Control {
  readonly ownerSVGElement?: unknown
  matches(selector: string): boolean
}

describe('the console with the keyboard alone', { skip }, () => {
  let cluster: TestCluster
  let browser: Browser
  let page: Page
  const folder = newTestFolder()
  /** Controls that could not be seen when they had the focus. */
  const unseen: string[] = []

  const button = (name: string | RegExp) =>
    page.getByRole('button', { name, exact: typeof name === 'string' })
  const link = (name: string) => page.getByRole('link', { name, exact: true })
  const text = (wanted: string | RegExp) => page.getByText(wanted).first()
  const hasFocus = (target: Locator): Promise<boolean> => target.evaluate(isFocused)

  /** Presses Tab until a control has the focus. */
  const tabTo = async (control: Locator): Promise<void> => {
    const target = control.first()
    for (let presses = 0; !(await hasFocus(target)); presses += 1) {
      assert.ok(presses < maxPresses, `Tab does not reach ${control}`)
      await page.keyboard.press('Tab')
    }
    const [isMarked, isDrawing] = (await target.evaluate((one: Control) => [
      one.matches(':focus-visible'),
      Boolean(one.ownerSVGElement),
    ])) as [boolean, boolean]
    // The center of an arrow is not on its line.
    if (!isMarked || !(isDrawing || (await isInView(target)))) unseen.push(String(control))
  }
  const press = async (control: Locator, key = 'Enter'): Promise<void> => {
    await tabTo(control)
    await page.keyboard.press(key)
  }
  /** Replaces the text of a field, or chooses an option by its first letters. */
  const type = async (field: Locator, value: string): Promise<void> => {
    await tabTo(field)
    await page.keyboard.press('Control+a')
    await page.keyboard.type(value)
  }
  /** Opens a dialog, and closes it with Esc. Afterward, its button has the focus again. */
  const lookInto = async (control: Locator): Promise<void> => {
    await press(control)
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.ok(await hasFocus(control.first()))
  }
  const search = async (name: string): Promise<void> => {
    await page.keyboard.press('/')
    await page.locator('input[type=search]:focus').waitFor()
    await page.keyboard.type(name)
    await page.getByText('1 of 5').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name, exact: true }).waitFor()
  }
  const isEdited = () => text('was P13M').waitFor()

  before(async () => {
    cluster = await startSampleCluster(folder)
    await addUsers(cluster, { reader: [{ resource: { type: 'DATASOURCE', name: '.*' }, action: 'READ' }] })
    browser = await openBrowser()
    page = (await openPage(browser)).page
  })
  after(async () => {
    await browser?.close()
    await cluster?.end()
    removeTestFolder(folder)
    assert.deepEqual(unseen, [])
  })

  test('logs in, skips the navigation, and finds a datasource', async () => {
    await page.goto(`${cluster.routerUrl}/console/`)
    await page.locator('input[name=password]:focus').waitFor()
    await page.keyboard.type(cluster.adminPassword!)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await press(button('Skip to content'))
    assert.equal(await page.evaluate('document.activeElement.id'), 'screen')
    await search('wikipedia')
  })

  test('edits rules, confirms the loss, applies them, and undoes that', async () => {
    await press(button(/Load by period P13M/))
    await type(page.getByLabel(/^Period/), 'P1Y')
    await isEdited()
    await type(page.getByLabel(/Comment/), 'one year')
    await type(page.getByLabel(/to confirm the loss/), 'wikipedia')
    await press(button('Apply'))
    await text('Applied.').waitFor()
    const stored = await cluster.router.get<{ period?: string }[]>(`${rulesPath}/wikipedia`)
    assert.equal(stored[2]!.period, 'P1Y')
    await press(button('Undo'))
    await text('Undone.').waitFor()
  })

  test('saves, discards, restores, and opens an edit', async () => {
    await type(page.getByLabel(/^Period/), 'P14M')
    await isEdited()
    const downloading = page.waitForEvent('download')
    await press(button('Save plan'))
    const plan = path.join(folder, 'plan.json')
    await (await downloading).saveAs(plan)
    await page.keyboard.press('Escape')
    await press(button('Restore'))
    await isEdited()
    await press(button('Discard'))
    const choosing = page.waitForEvent('filechooser')
    await press(button('Open plan…'))
    await (await choosing).setFiles(plan)
    await isEdited()
    await press(button('Discard'))
  })

  test('explains segments, shows rule changes, and moves the clock', async () => {
    const axis = page.getByRole('group', { name: /Time axis/ })
    await press(axis, 'End')
    await page.keyboard.press('Enter')
    await press(page.getByRole('dialog').getByRole('button', { name: /partition 1/ }))
    await text(/^The segment has all its replicas/).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.ok(await hasFocus(axis))
    await lookInto(button('All rule changes'))
    await press(page.getByLabel('Days into the future'), 'End')
    await text('Previews end here').waitFor()
    await press(button('Back to now'))
    await press(button('+1 day'))
    await press(button('Move the clock…'))
    await text(/It cannot go back\.$/).waitFor()
    await press(button('Move the clock'))
    await page.getByText('Now', { exact: true }).waitFor()
  })

  test('marks segments as used', async () => {
    await cluster.router.post(`${rulesPath}/flights`, [{ type: 'dropForever' }])
    const unused = '/svc/coordinator/v1/metadata/datasources/flights/unusedSegments'
    await waitUntil(
      'the segments are unused',
      async () => (await cluster.router.get<object[]>(unused)).length === 120,
    )
    await cluster.router.post(`${rulesPath}/flights`, [])
    await search('flights')
    await press(button('Mark segments as used if the rules keep them'))
    await text('Marked 120 segments as used.').waitFor()
    await press(button('Undo'))
    await text('Marked 120 segments as unused.').waitFor()
    await press(button('Undo'))
    await text('Marked 120 segments as used.').waitFor()
  })

  test('previews changes to servers, and explains a server', async () => {
    await press(link('Tiers'))
    await press(button('fails: hot-1.example:8083'))
    await text('What if hot-1.example:8083 fails?').waitFor()
    await type(page.getByLabel('Number of servers to add'), '2')
    await type(page.getByLabel('Tier of the servers'), 'cold')
    await press(button('Preview'))
    await text(/and 2 servers with .* are added to cold\?/).waitFor()
    await press(button('Discard'))
    await lookInto(button('Why? hot-1.example:8083'))
  })

  test('configures and stops compaction, and suspends a supervisor', async () => {
    const config = async () =>
      (await cluster.router.get<{ skipOffsetFromLatest: string }>(`${compactionPath}/datasources/wikipedia`))
        .skipOffsetFromLatest
    await press(link('Compaction'))
    await press(page.getByRole('group', { name: /^Compaction calendar/ }), 'ArrowLeft')
    await page.locator('.cell-details').waitFor()
    await type(page.getByLabel('Skip offset from latest'), 'P90D')
    await press(button('Apply'))
    await text('Applied.').waitFor()
    assert.equal(await config(), 'P90D')
    await press(button('Undo'))
    await text('Undone.').waitFor()
    await press(button('Stop compaction…'))
    await press(button('Stop compaction'))
    await text('Stopped compaction.').waitFor()
    await press(button('Undo'))
    await text('Undone.').waitFor()
    assert.equal(await config(), 'P14D')
    const before = await cluster.router.get<object>(`${compactionPath}/cluster`)
    const spec = await cluster.router.get<object>(`${compactionPath}/datasources/wikipedia`)
    await cluster.router.post(`${compactionPath}/cluster`, { ...before, useSupervisors: true })
    await cluster.router.post(supervisorPath, { type: 'autocompact', spec })
    await press(link('Overview'))
    await press(link('Compaction'))
    await press(button('Suspend…'))
    await press(button('Suspend'))
    await press(button('Resume…'))
    await press(button('Resume'))
    await button('Suspend…').waitFor()
  })

  test('shows the runs of duties, shuts down a task, and ingests a file', async () => {
    const spec = { type: 'kill', dataSource: 'koalas', interval: '2000-01-01/2000-01-02' }
    const { json } = await cluster.router.post('/svc/indexer/v1/task', spec)
    await press(link('Runs'))
    await press(button('HistoricalManagementDuties'))
    await page.getByRole('group', { name: 'Runs of HistoricalManagementDuties' }).waitFor()
    await press(button((json as { task: string }).task))
    await press(button('Shut down…'))
    await press(button('Shut down'))
    await text(/^kill task for koalas, failed/).waitFor()
    const choosing = page.waitForEvent('filechooser')
    await press(page.getByLabel('Choose a file'), 'Space')
    const buffer = Buffer.from('time,amount\n2026-01-01,1\n')
    await (await choosing).setFiles({ name: 'sales.csv', mimeType: 'text/csv', buffer })
    await press(button('Ingest'))
    await page.getByRole('heading', { name: /^index_.*sales/ }).waitFor()
  })

  test('creates, changes, and deletes a user, a role, and a group mapping', async () => {
    await press(link('Access'))
    await type(page.getByLabel('Name', { exact: true }), 'carol')
    await type(page.getByLabel('Password', { exact: true }), 'a-password-of-tests')
    await press(button('Create user'))
    await text('carol can now log in, but has no permissions yet.').waitFor()
    await press(page.getByRole('checkbox', { name: 'reader' }), 'Space')
    await press(button('Apply'))
    await text('carol now has the role reader.').waitFor()
    await type(page.getByLabel('Datasource'), 'koalas')
    await press(button('Give access'))
    await text('carol can now read koalas.').waitFor()
    await press(button('Undo'))
    await text('Undone.').waitFor()
    await type(page.getByLabel('New password'), 'another-password')
    await press(button('Set password'))
    await text('Changed the password of carol.').waitFor()
    await press(page.locator('summary', { hasText: 'Delete this user' }))
    await type(page.getByLabel(/to confirm/), 'carol')
    await press(button('Delete'))
    await text('Deleted user carol.').waitFor()
    await press(button('New role…'))
    await type(page.getByLabel('Name', { exact: true }), 'analysts')
    await type(page.getByLabel('Name of resource 1'), 'wiki.*')
    await press(button('Create role'))
    await text('Created the role analysts.').waitFor()
    await press(button('Delete this role…'))
    await press(button('Delete role'))
    await text('Deleted the role analysts.').waitFor()
    await press(button('New group mapping…'))
    await type(page.getByLabel('Name', { exact: true }), 'staff')
    await type(page.getByLabel('Groups of the LDAP directory'), 'cn=staff,dc=example')
    await press(button('Create group mapping'))
    await text('Created the group mapping staff.').waitFor()
    await press(button('Delete this group mapping…'))
    await press(button('Delete group mapping'))
    await text('Deleted the group mapping staff.').waitFor()
    await type(page.getByLabel('User', { exact: true }), 'reader')
    await type(page.getByLabel('Path'), '/svc/coordinator/v1/rules/koalas')
    await press(button('Explain'))
    await page.getByText('Allowed.', { exact: true }).waitFor()
  })

  test('injects a fault between two servers, and clears it', async () => {
    await press(link('Faults'))
    await press(button(/^Calls from historical .* to coordinator /))
    await press(button('Slow'))
    await press(button('Inject fault'))
    const faults = page.getByRole('region', { name: 'Active faults' })
    await press(faults.getByRole('button', { name: /^Clear: / }))
    await faults.getByRole('button').waitFor({ state: 'detached' })
    assert.deepEqual(await cluster.router.get('/svc/simulation/v1/faults'), [])
  })

  test('runs, downloads, and cancels a query, and logs out', async () => {
    await press(link('SQL'))
    await type(page.getByLabel('Query'), 'SELECT 40 + 2 AS answer')
    await press(button('Run'))
    await page.getByRole('cell', { name: '42', exact: true }).waitFor()
    const downloading = page.waitForEvent('download')
    await press(button('Download as CSV'))
    assert.equal((await downloading).suggestedFilename(), 'result.csv')
    const forever = 'SELECT COUNT(*) FROM sys.segments a, sys.segments b, sys.segments c, sys.segments d'
    await type(page.getByLabel('Query'), `${forever} WHERE a.size + b.size * c.size - d.size = 7`)
    await page.keyboard.press('Control+Enter')
    await press(button('Cancel'))
    await text('Canceled.').waitFor()
    await press(button('Log out'))
    await page.locator('input[name=password]:focus').waitFor()
  })
})
