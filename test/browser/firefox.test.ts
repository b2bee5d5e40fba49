// The main flow of the console and each of its screens in Firefox ESR, over WebDriver BiDi: over TLS and with a login, and
// without a cluster. Everything else is tested in Chromium.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { firefoxFile } from '../support/find-on-path.ts'
import { firstOutput } from '../support/first-output.ts'
import { svcCommand } from '../support/svc-command.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { openFirefox } from './open-firefox.ts'
import { startSampleCluster } from './sample-cluster.ts'
import { writeSampleInventory } from './sample-inventory.ts'

// What each screen shows once it has its data.
const screens = [
  ['Overview', /The cluster is settled/],
  ['Datasources', /5 in total/],
  ['Tiers', /hot-1\.example:8083/],
  ['Compaction', /wikipedia by day/],
  ['Runs', /HistoricalManagementDuties/],
  ['Access', /Explain a request/],
  ['Faults', /What happened while this page was open/],
  ['SQL', /clickstream/],
] as const

const skip = firefoxFile === undefined && 'Firefox is not on PATH (Debian: apt-get install firefox-esr)'

test('Firefox: opens a snapshot, edits and reviews its rules, and previews the next 90 days', {
  skip,
}, async () => {
  const snapshot = newTestFolder()
  writeSampleInventory(snapshot)
  const command = spawn(svcCommand, ['console', snapshot, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const page = await openFirefox()
  try {
    const printed = await firstOutput(command)
    await page.open(/http:\S+/.exec(printed)![0])
    await page.waitForText(/5 datasources/)
    await page.click({ role: 'link', name: 'Datasources' })
    await page.click({ role: 'link', name: 'wikipedia' })
    await page.waitForText(/780 segments/)
    await page.click('//button[contains(., "Load by period P13M")]')
    await page.fill({ role: 'textbox', name: 'Period, counted back from now' }, 'P1Y')
    await page.waitForText(/was P13M/)
    await page.waitForText(/\d+ days become unqueryable/)
    for (let month = 0; month < 3; month += 1) await page.click({ role: 'button', name: '+1 month' })
    await page.waitForText(/Preview of \d{4}/)
    await page.click({ role: 'button', name: 'Discard' })
    await page.waitForText(/Under these rules/)
    assert.deepEqual(page.problems, [])
  } finally {
    await page.close()
    command.kill('SIGINT')
    removeTestFolder(snapshot)
  }
})

test('Firefox: logs in over TLS, edits and reviews imported rules, moves the clock by 90 days, and applies them', {
  skip,
}, async () => {
  const snapshot = newTestFolder()
  const cluster = await startSampleCluster(snapshot)
  const page = await openFirefox()
  try {
    const startedAt = performance.now()
    await page.open(`${cluster.routerUrl}/console/`)
    await page.fill({ role: 'textbox', name: 'Name' }, 'admin')
    await page.fill('//input[@type="password"]', cluster.adminPassword!)
    await page.click({ role: 'button', name: 'Log in' })
    await page.click({ role: 'link', name: 'Datasources' })
    await page.click({ role: 'link', name: 'wikipedia' })
    await page.waitForText(/780 segments/)
    await page.click('//button[contains(., "Load by period P13M")]')
    await page.fill({ role: 'textbox', name: 'Period, counted back from now' }, 'P2Y')
    await page.waitForText(/was P13M/)
    for (let month = 0; month < 3; month += 1) await page.click({ role: 'button', name: '+1 month' })
    await page.waitForText(/Preview of \d{4}/)
    await page.click({ role: 'button', name: 'Move the clock…' })
    await page.click({ role: 'button', name: 'Move the clock' })
    await page.waitForText(/Preview of an unsaved edit/)
    await page.click({ role: 'button', name: 'Apply' })
    await page.waitForText(/Applied\./)
    assert.ok(performance.now() - startedAt < 60_000)
    const rules = await cluster.router.get<{ period?: string }[]>('/svc/coordinator/v1/rules/wikipedia')
    assert.deepEqual(
      rules.slice(2).map(({ period = '' }) => period),
      ['P2Y', ''],
    )
    await page.waitForText(/All replicas are where the rules require them\./)
    for (const [screen, text] of screens) {
      await page.click({ role: 'link', name: screen })
      await page.waitForText(text)
    }
    assert.deepEqual(page.problems, [])
  } finally {
    await page.close()
    await cluster.stop()
    removeTestFolder(snapshot)
  }
})
