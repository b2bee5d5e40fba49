import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { waitUntil } from '@svc/shared/testing'
import { chromium, type Page } from 'playwright-core'
import { chromiumFile } from '../support/find-on-path.ts'

/** A page whose memory can be measured. */
export interface MeasuredPage {
  readonly page: Page
  /** Errors and warnings in the browser's console. */
  readonly problems: readonly string[]
  /** Returns the memory of the page and its worker in MiB, including the responses that the debugger records: up to 200 MB. */
  memoryMiB(): number
  /** Disconnects the debugger, and returns the memory of the page and its worker in MiB, as a user's browser needs it. */
  memoryWithoutDebuggerMiB(): Promise<number>
  close(): void
}

/**
 * Opens a page in a browser that continues when the debugger disconnects: Chromium keeps the responses that a page received as
 * long as a debugger might request them.
 */
export async function openMeasuredPage(): Promise<MeasuredPage> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-browser-'))
  const browser = startBrowser(folder)
  // Also if a measurement fails.
  process.once('exit', () => browser.kill())
  const address = await waitUntil('the browser listens', () => addressIn(folder), Boolean, {
    timeoutMs: 60_000,
  })
  const debuggerConnection = await chromium.connectOverCDP(address!)
  const page = debuggerConnection.contexts()[0]!.pages()[0]!
  const problems: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(`The page failed: ${error.stack}`))
  return {
    page,
    problems,
    memoryMiB: () => memoryOfRenderers(browser.pid!),
    memoryWithoutDebuggerMiB: async () => {
      await debuggerConnection.close()
      // Chromium releases the recorded responses a few seconds later.
      let [before, now] = [Number.POSITIVE_INFINITY, memoryOfRenderers(browser.pid!)]
      while (now < before) {
        await new Promise((resolve) => setTimeout(resolve, settleMs))
        ;[before, now] = [now, memoryOfRenderers(browser.pid!)]
      }
      return now
    },
    close: () => {
      browser.kill()
      browser.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
    },
  }
}

const settleMs = 10_000

function startBrowser(folder: string): ChildProcess {
  // As in openBrowser. The authority of a test cluster is not known to this browser.
  const options = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--ignore-certificate-errors']
  const size = ['--headless=new', '--window-size=1440,900', '--force-prefers-reduced-motion']
  const debugging = ['--remote-debugging-port=0', `--user-data-dir=${folder}`]
  return spawn(chromiumFile!, [...options, ...size, ...debugging, 'about:blank'], { stdio: 'ignore' })
}

/** Returns the address of the debugger in the browser's folder; undefined until it listens. */
function addressIn(folder: string): string | undefined {
  try {
    const [port, address] = readFileSync(path.join(folder, 'DevToolsActivePort'), 'utf8').split('\n')
    return `ws://127.0.0.1:${port}${address}`
  } catch {
    return undefined
  }
}

/** Returns the memory of the largest page among the descendants of a process, in MiB. */
function memoryOfRenderers(browserPid: number): number {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const status = readOrEmpty(`/proc/${name}/status`)
    parents.set(Number(name), Number(/^PPid:\s+(\d+)/m.exec(status)?.[1] ?? 0))
  }
  const isOfBrowser = (pid: number): boolean =>
    pid === browserPid || (pid > 1 && isOfBrowser(parents.get(pid) ?? 0))
  const sizes = [...parents.keys()]
    .filter((pid) => isOfBrowser(pid) && readOrEmpty(`/proc/${pid}/cmdline`).includes('--type=renderer'))
    .map((pid) => Number(/^Pss:\s+(\d+) kB/m.exec(readOrEmpty(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0))
  return Math.round(Math.max(...sizes) / 1024)
}

/** The processes of others may end at any time. */
function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
