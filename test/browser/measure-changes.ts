// Measures changes of a million segments in the console, on the cluster of a home: an edit that marks all segments of a
// datasource as unused, its undo, and the compaction screen. node test/browser/measure-changes.ts HOME [DATASOURCE]

import { accessToCluster } from '@svc/cli/client'
import { homeLayout } from '@svc/cli/home'
import type { Page } from 'playwright-core'
import { maxTaskSince, memoryOfPage, nowIn, observe } from './observe-page.ts'
import { openBrowser, openPage } from './open-browser.ts'

// Servers drop a million segments in about a minute.
const maxWaitMs = 300_000

/** How long a step took, and the longest main-thread task during it (0: below 50 ms), in milliseconds. */
interface Step {
  readonly step: string
  readonly milliseconds: number
  readonly maxTaskMs: number
}

const steps: Step[] = []

/** Does something, waits until the page shows it, and records how long that took. */
async function measureStep(page: Page, step: string, work: () => Promise<unknown>): Promise<void> {
  const start = await nowIn(page)
  await work()
  const milliseconds = Math.round((await nowIn(page)) - start)
  steps.push({ step, milliseconds, maxTaskMs: await maxTaskSince(page, start) })
  process.stderr.write(`${step}: ${milliseconds} ms\n`)
}

/** Drops all data of the datasource that the page shows, watches the servers drop it, and undoes that. */
async function measureLoss(page: Page, dataSource: string): Promise<void> {
  const apply = page.getByRole('button', { name: 'Apply', exact: true })
  await page.getByRole('button', { name: 'Add rule' }).click()
  await measureStep(page, 'preview of the loss', async () => {
    await page.getByLabel('Action').selectOption('drop')
    await page.getByLabel('Which data').selectOption('Forever')
    await page
      .getByText(/become unqueryable/)
      .first()
      .waitFor()
  })
  await measureStep(page, 'exact preview', () =>
    page.getByText('To apply the edit, first confirm the loss.').waitFor(),
  )
  await page.getByLabel(/to confirm the loss/).fill(dataSource)
  await measureStep(page, 'apply', async () => {
    await apply.click()
    await page.getByText('Applied.').waitFor()
  })
  await measureStep(page, 'until no replica is left to drop', () =>
    page.getByText('All replicas are where the rules require them.').waitFor(),
  )
  await measureStep(page, 'undo', async () => {
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone.').waitFor()
  })
  await measureStep(page, 'until no replica is left to load', () =>
    page.getByText('Undone. All replicas are where the rules require them.').waitFor(),
  )
}

/** Opens the compaction screen, selects days, and previews, applies, and undoes a configuration. */
async function measureCompaction(page: Page, dataSource: string): Promise<void> {
  const link = page.getByRole('link', { name: 'Compaction', exact: true })
  await measureStep(page, 'open the compaction screen', async () => {
    await link.click()
    await page.getByRole('heading', { name: 'Policy comparison' }).waitFor()
  })
  await page.getByLabel('Datasource', { exact: true }).selectOption(dataSource)
  await measureStep(page, 'preview of a configuration', async () => {
    await page.getByRole('button', { name: 'Configure compaction' }).click()
    await page.getByRole('heading', { name: 'After this edit' }).waitFor()
  })
  await measureStep(page, 'preview of an edit', async () => {
    await page.getByLabel('Skip offset from latest').fill('P90D')
    await page
      .getByText(/^was \d/)
      .first()
      .waitFor()
  })
  await measureStep(page, 'apply a configuration', async () => {
    await page.getByRole('button', { name: 'Apply', exact: true }).click()
    await page.getByText('Applied.').waitFor()
  })
  const calendar = page.getByRole('group', { name: /Compaction calendar/ }).last()
  await measureStep(page, 'until the calendar is shown', () => calendar.waitFor())
  await calendar.focus()
  await measureStep(page, 'select 20 days', async () => {
    for (let day = 0; day < 20; day += 1) await page.keyboard.press('ArrowLeft')
    await page.getByRole('cell', { name: 'awaits compaction' }).first().waitFor()
  })
  for (const policy of ['Newest segments first', 'Most fragmented intervals first'])
    await measureStep(page, `compare policies: ${policy}`, () =>
      page
        .getByRole('region', { name: policy })
        .getByText(/^Selected: /)
        .waitFor(),
    )
  await measureStep(page, 'undo the configuration', async () => {
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Undone.').waitFor()
  })
}

async function measure(home: string, dataSource: string): Promise<object> {
  const { routerUrl, credentials } = accessToCluster(homeLayout(home))
  const [name, password] = credentials!.split(':') as [string, string]
  const browser = await openBrowser()
  const { page, problems } = await openPage(browser)
  const memoryMiB: Record<string, number> = {}
  try {
    page.setDefaultTimeout(maxWaitMs)
    await page.addInitScript(observe)
    await page.goto(`${routerUrl}/console/datasources/${encodeURIComponent(dataSource)}`)
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Password').fill(password)
    await measureStep(page, 'log in', async () => {
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByRole('region', { name: 'Timeline' }).waitFor()
    })
    await measureLoss(page, dataSource)
    memoryMiB.afterUndo = await memoryOfPage(browser)
    await measureCompaction(page, dataSource)
    memoryMiB.afterCompaction = await memoryOfPage(browser)
  } catch (error) {
    process.stderr.write(`${error}\n`)
    await page.screenshot({ path: '/tmp/h18/failed.png' })
  } finally {
    await browser.close()
  }
  return { steps, memoryMiB, problems }
}

const [home, dataSource = 'simulated-1'] = process.argv.slice(2)
if (home === undefined) throw new Error('Missing argument: the home of a running cluster')
process.stdout.write(`${JSON.stringify(await measure(home, dataSource), null, 2)}\n`)
