// Measures the console in Chromium on the cluster of a home: node test/browser/measure-console.ts HOME [DATASOURCE]

import { accessToCluster } from '@svc/cli/client'
import { homeLayout } from '@svc/cli/home'
import type { Page } from 'playwright-core'
import { openMeasuredPage } from './measured-browser.ts'
import { maxTaskSince, nowIn, observe } from './observe-page.ts'

const edits = 40
/** What was measured: times in milliseconds, memory in MiB. */
interface Figures {
  readonly datasource: DatasourceFigures
  readonly tiers: TiersFigures
  /** The longest main-thread task while each screen is opened. */
  readonly maxTaskByScreen: Readonly<Record<string, number>>
  /** With the responses that the debugger records. */
  readonly memoryMiB: number
  readonly memoryWithoutDebuggerMiB: number
}

interface DatasourceFigures {
  readonly firstUsefulPaint: number
  readonly maxTaskAtStart: number
  readonly edits: { readonly median: number; readonly p95: number; readonly max: number }
  readonly maxTaskWhileEditing: number
  readonly maxTaskWhileZoomingAndScrolling: number
}

interface TiersFigures {
  readonly servers: number
  readonly firstUsefulPaint: number
  /** Until the consequences of a server that fails, and is then drained, are shown. */
  readonly whatIf: readonly number[]
  readonly maxTaskAtStart: number
  readonly maxTaskWhileScrolling: number
  readonly maxTaskWhileSortingAndFiltering: number
  readonly maxTaskDuringWhatIf: number
}

/** Logs in, edits a rule, and zooms and scrolls the time axis. */
async function measureDatasource(page: Page, name: string, password: string): Promise<DatasourceFigures> {
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill(password)
  const start = await nowIn(page)
  const firstUsefulPaint = (await page.evaluate('measured.open()')) as number
  await page.getByText('Computing').waitFor({ state: 'detached' })
  const maxTaskAtStart = await maxTaskSince(page, start)

  const editing = await nowIn(page)
  await page.getByRole('button', { name: 'Add rule' }).click()
  const times: number[] = []
  for (let edit = 0; edit < edits; edit += 1)
    times.push(await page.evaluate(`measured.edit('P${100 + 10 * edit}D')`))
  const maxTaskWhileEditing = await maxTaskSince(page, editing)

  const zooming = await nowIn(page)
  await page.getByRole('group', { name: /Time axis/ }).focus()
  for (let round = 0; round < 5; round += 1) {
    for (const key of ['End', '+', '+', '+', '+', 'Shift+ArrowLeft', 'Shift+ArrowLeft', 'Shift+ArrowRight'])
      await press(page, key)
    await press(page, '0')
  }
  const sorted = times.toSorted((a, b) => a - b)
  return {
    firstUsefulPaint: Math.round(firstUsefulPaint),
    maxTaskAtStart,
    edits: {
      median: Math.round(sorted[Math.floor(edits / 2)]!),
      p95: Math.round(sorted[Math.floor(edits * 0.95)]!),
      max: Math.round(sorted.at(-1)!),
    },
    maxTaskWhileEditing,
    maxTaskWhileZoomingAndScrolling: await maxTaskSince(page, zooming),
  }
}

async function press(page: Page, key: string): Promise<void> {
  await page.keyboard.press(key)
  await page.waitForTimeout(100)
}

/** Opens the screen of tiers and servers, scrolls the servers, selects some in the map, sorts them, and previews changes. */
async function measureTiers(page: Page): Promise<TiersFigures> {
  await page.getByRole('button', { name: 'Discard' }).click()
  const start = await nowIn(page)
  const link = `[...document.querySelectorAll('nav a')].find((one) => one.textContent === 'Tiers')`
  const firstUsefulPaint = (await page.evaluate(`measured.click(${link}, '.server-map svg path')`)) as number
  const first = page.getByRole('button', { name: /^fails: / }).first()
  // What-if needs a preview of the cluster as it is.
  await first.waitFor()
  const maxTaskAtStart = await maxTaskSince(page, start)

  const scrolling = await nowIn(page)
  const list = page.locator('.servers')
  const servers = Number.parseInt((await list.getAttribute('aria-label'))!.replaceAll(',', ''), 10)
  await list.hover()
  for (let step = 0; step < 60; step += 1) {
    await page.mouse.wheel(0, 700)
    await page.waitForTimeout(50)
  }
  await page.locator('.server-map [role=group]').focus()
  for (const key of [...Array(10).fill('ArrowDown'), ...Array(10).fill('ArrowRight')]) await press(page, key)
  const maxTaskWhileScrolling = await maxTaskSince(page, scrolling)

  const sorting = await nowIn(page)
  for (const order of ['fill', 'queue', 'tier']) {
    await page.getByLabel('Sort by').selectOption(order)
    await page.waitForTimeout(300)
  }
  for (const chip of await page.locator('.choices button').all()) {
    await chip.click()
    await page.waitForTimeout(300)
  }
  await page.getByRole('button', { name: 'All tiers' }).click()
  const maxTaskWhileSortingAndFiltering = await maxTaskSince(page, sorting)

  const assuming = await nowIn(page)
  const whatIf: number[] = []
  for (const fate of ['fails', 'is drained']) {
    const button = `document.querySelector('button[aria-label^="${fate}: "]')`
    const shown = 'section[aria-label="What if"][aria-busy=false] .notice.future'
    const milliseconds = (await page.evaluate(`measured.click(${button}, '${shown}')`)) as number
    await page.getByText(new RegExp(`^What if .* ${fate}`)).waitFor()
    whatIf.push(Math.round(milliseconds))
  }
  return {
    servers,
    firstUsefulPaint: Math.round(firstUsefulPaint),
    whatIf,
    maxTaskAtStart,
    maxTaskWhileScrolling,
    maxTaskWhileSortingAndFiltering,
    maxTaskDuringWhatIf: await maxTaskSince(page, assuming),
  }
}

/** Opens each screen. */
async function measureScreens(page: Page): Promise<Figures['maxTaskByScreen']> {
  const links = page.getByRole('navigation', { name: 'Screens' }).getByRole('link')
  const longest: Record<string, number> = {}
  for (const link of await links.all()) {
    const start = await nowIn(page)
    await link.click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForTimeout(2000)
    longest[(await link.textContent())!] = await maxTaskSince(page, start)
  }
  return longest
}

async function measure(home: string, dataSource: string): Promise<Figures> {
  const { routerUrl, credentials } = accessToCluster(homeLayout(home))
  const [name, password] = credentials!.split(':') as [string, string]
  const measured = await openMeasuredPage()
  try {
    const { page } = measured
    page.setDefaultTimeout(60_000)
    await page.addInitScript(observe)
    await page.goto(`${routerUrl}/console/datasources/${encodeURIComponent(dataSource)}`)
    return {
      datasource: await measureDatasource(page, name, password),
      tiers: await measureTiers(page),
      maxTaskByScreen: await measureScreens(page),
      memoryMiB: measured.memoryMiB(),
      memoryWithoutDebuggerMiB: await measured.memoryWithoutDebuggerMiB(),
    }
  } finally {
    measured.close()
  }
}

const [home, dataSource = 'simulated-1'] = process.argv.slice(2)
if (home === undefined) throw new Error('Missing argument: the home of a running cluster')
process.stdout.write(`${JSON.stringify(await measure(home, dataSource), null, 2)}\n`)
