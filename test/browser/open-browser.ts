import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core'
import { chromiumFile } from '../support/find-on-path.ts'

/** A page of the console, with everything that went wrong in it. */
export interface ConsolePage {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors in the browser's console, exceptions, and reports of the content security policy. */
  readonly problems: string[]
  /** Returns what axe finds, as one line for each kind. */
  findings(): Promise<string[]>
}

/** Starts Chromium. */
export async function openBrowser(): Promise<Browser> {
  // Chromium has no sandbox for root, and the shared memory of a container is small.
  const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']
  return await chromium.launch({ executablePath: chromiumFile!, args, timeout: 120_000 })
}

/** Opens a page in a context of its own, like a tab in another window. */
export async function openPage(
  browser: Browser,
  colorScheme: 'dark' | 'light' = 'dark',
): Promise<ConsolePage> {
  const context = await browser.newContext({
    // The authority of a test cluster is not known to this browser.
    ignoreHTTPSErrors: true,
    viewport: { width: 1440, height: 900 },
    colorScheme,
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  // A slow machine takes long to restart a server.
  page.setDefaultTimeout(120_000)
  const problems: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(`The page failed: ${error.stack}`))
  // As text, because tests have no types of browsers.
  await page.addInitScript(
    `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      console.error('Content security policy: ' + violatedDirective + ' blocked ' + blockedURI))`,
  )
  return { page, context, problems, findings: () => findingsIn(page) }
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string
    readonly help: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
  }[]
}

async function findingsIn(page: Page): Promise<string[]> {
  // Evaluated by the debugger, which the content security policy does not affect.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axe.source)
  // Details of what is right would take most of the time.
  const { violations } = (await page.evaluate(`axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    resultTypes: ['violations'],
  })`)) as AxeResult
  return violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes
        .slice(0, 3)
        .map(
          ({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary?.split('\n').at(-1) ?? ''}`,
        )
        .join(' | ')}`,
  )
}

/** Whether an element has the focus. */
export const isFocused = (one: Focusable): boolean => one.ownerDocument.activeElement === one

/** An element in the browser; tests have no types of browsers. */
interface Focusable {
  readonly ownerDocument: { readonly activeElement: unknown }
}

/** Whether all of an element is in the window, and nothing covers its center. Does not scroll. */
export const isInView = (element: Locator): Promise<boolean> =>
  element.evaluate((one: DrawnElement) => {
    const { left, right, top, bottom } = one.getBoundingClientRect()
    const found = one.ownerDocument.elementFromPoint((left + right) / 2, (top + bottom) / 2)
    return top >= 0 && bottom <= one.ownerDocument.documentElement.clientHeight && one.contains(found)
  })

/** An element in the browser; tests have no types of browsers. */
interface DrawnElement {
  getBoundingClientRect(): Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>>
  contains(other: unknown): boolean
  readonly ownerDocument: {
    elementFromPoint(x: number, y: number): unknown
    readonly documentElement: { readonly clientHeight: number }
  }
}

/** Opens a path of the console and logs in. */
export async function logIn(page: Page, url: string, name: string, password: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}
