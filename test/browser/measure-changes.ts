// Measures changes of a million segments in the console, on the cluster of a home: an edit that marks all segments of a
// datasource as unused, and its undo; the removal of a rule that drops all data; and the compaction screen.
// node test/browser/measure-changes.ts HOME [DATASOURCE [PHASE...]]; the phases are undo, restore, and compaction.

import { accessToCluster } from '@svc/cli/client'
import { homeLayout } from '@svc/cli/home'
import type { Page } from 'playwright-core'
import { type MeasuredPage, openMeasuredPage } from './measured-browser.ts'
import { maxTaskSince, nowIn, observe } from './observe-page.ts'

// Marking a million segments takes a while.
const maxWaitMs = 300_000

/**
 * Performs a step, waits until the page shows it, and prints how long that took, the longest main-thread task during it (0:
 * below 50 ms), and the memory of the page afterward, with the responses that the debugger records.
 */
type Measure = (step: string, work: () => Promise<unknown>) => Promise<void>

const measureIn =
  ({ page, memoryMiB }: MeasuredPage): Measure =>
  async (step, work) => {
    const start = await nowIn(page)
    await work()
    const milliseconds = Math.round((await nowIn(page)) - start)
    const maxTaskMs = await maxTaskSince(page, start)
    const figures = { step, milliseconds, maxTaskMs, memoryMiB: memoryMiB() }
    process.stdout.write(`${JSON.stringify(figures)}\n`)
  }

/** Applies an edit that drops all data of the datasource that the page shows. */
async function measureLoss(page: Page, dataSource: string, measure: Measure): Promise<void> {
  await page.getByRole('link', { name: 'Datasources', exact: true }).click()
  await page.getByRole('link', { name: dataSource, exact: true }).click()
  await page.getByRole('button', { name: 'Add rule' }).click()
  await measure('preview of the loss', async () => {
    await page.getByLabel('Action').selectOption('drop')
    await page.getByLabel('Which data').selectOption({ label: 'forever' })
    await page.getByText('To apply the edit, first confirm the loss.').waitFor()
  })
  await page.getByLabel(/to confirm the loss/).fill(dataSource)
  await measure('apply', async () => {
    await page.getByRole('button', { name: 'Apply', exact: true }).click()
    await page.getByText('Applied.').waitFor()
  })
}

/** Drops all data, and undoes that before the servers have dropped it. */
async function measureUndo(page: Page, dataSource: string, measure: Measure): Promise<void> {
  await measureLoss(page, dataSource, measure)
  await measure('undo', async () => {
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone.').waitFor()
    await page.getByText(/^Undone. Marking/).waitFor({ state: 'detached' })
  })
}

/** Removes the rule that drops all data, and marks the segments as used. */
async function measureRestore(page: Page, _dataSource: string, measure: Measure): Promise<void> {
  await page
    .getByRole('button', { name: /^Remove/ })
    .first()
    .click()
  await measure('apply', async () => {
    await page.getByRole('button', { name: 'Apply', exact: true }).click()
    await page.getByText('Applied.').waitFor()
  })
  const undo = page
    .getByText(/^Marked .* as used/)
    .locator('..')
    .getByRole('button', { name: 'Undo' })
  await measure('mark segments as used', async () => {
    await page.getByRole('button', { name: /^Mark segments as used/ }).click()
    await undo.and(page.locator(':enabled')).waitFor()
  })
}

/** Opens the compaction screen, selects days, and previews, applies, and undoes a configuration. */
async function measureCompaction(page: Page, dataSource: string, measure: Measure): Promise<void> {
  const link = page.getByRole('link', { name: 'Compaction', exact: true })
  await measure('open the compaction screen', async () => {
    await link.click()
    await page.getByRole('heading', { name: 'Policy comparison' }).waitFor()
  })
  await page.locator('aside select').first().selectOption(dataSource)
  await measure('preview of a configuration', async () => {
    await page.getByRole('button', { name: 'Configure compaction' }).click()
    await page.getByRole('heading', { name: 'After this edit' }).waitFor()
  })
  const skipped = page.getByRole('row', { name: /^Skipped/ })
  const before = (await skipped.textContent())!
  await measure('preview of an edit', async () => {
    await page.getByLabel('Skip offset from latest').fill('P90D')
    await skipped.filter({ hasNotText: before }).waitFor()
  })
  await measure('apply a configuration', async () => {
    await page.getByRole('button', { name: 'Apply', exact: true }).click()
    await page.getByText('Applied.').waitFor()
  })
  const calendar = page.getByRole('group', { name: /Compaction calendar/ }).last()
  await measure('until the calendar is shown', () => calendar.waitFor())
  await calendar.focus()
  await measure('select 20 days', async () => {
    for (let day = 0; day < 20; day += 1) await page.keyboard.press('ArrowLeft')
    await page.getByRole('cell', { name: 'awaits compaction' }).first().waitFor()
  })
  for (const policy of ['Newest segments first', 'Most fragmented intervals first'])
    await measure(`compare policies: ${policy}`, () =>
      page
        .getByRole('region', { name: policy })
        .getByText(/^Selected: /)
        .waitFor(),
    )
  await measure('undo the configuration', async () => {
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone.').waitFor()
  })
}

const phases: Readonly<Record<string, typeof measureLoss>> = {
  undo: measureUndo,
  restore: measureRestore,
  compaction: measureCompaction,
}

async function run(home: string, dataSource: string, chosen: readonly string[]): Promise<void> {
  const { routerUrl, credentials } = accessToCluster(homeLayout(home))
  const [name, password] = credentials!.split(':') as [string, string]
  const measured = await openMeasuredPage()
  try {
    const { page, problems } = measured
    page.setDefaultTimeout(maxWaitMs)
    await page.addInitScript(observe)
    await page.goto(`${routerUrl}/console/datasources/${encodeURIComponent(dataSource)}`)
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Password').fill(password)
    const measure = measureIn(measured)
    await measure('log in', async () => {
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByRole('button', { name: 'Add rule' }).waitFor()
    })
    for (const phase of chosen) {
      process.stdout.write(`${phase}\n`)
      await phases[phase]!(page, dataSource, measure)
    }
    const memoryMiB = await measured.memoryWithoutDebuggerMiB()
    process.stdout.write(`${JSON.stringify({ problems, memoryWithoutDebuggerMiB: memoryMiB })}\n`)
  } finally {
    measured.close()
  }
}

const [home, dataSource = 'simulated-1', ...chosen] = process.argv.slice(2)
if (home === undefined) throw new Error('Missing argument: the home of a running cluster')
await run(home, dataSource, chosen.length > 0 ? chosen : ['undo', 'compaction'])
