// The console without a cluster in Firefox ESR, over WebDriver BiDi. Everything else is tested in Chromium.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { firefoxFile } from '../support/find-on-path.ts'
import { svcCommand } from '../support/svc-command.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { openFirefox } from './open-firefox.ts'
import { writeSampleInventory } from './sample-inventory.ts'

const skip = firefoxFile === undefined && 'Firefox is not on PATH (Debian: apt-get install firefox-esr)'

test('Firefox: opens a snapshot, edits and reviews its rules, and previews the next 90 days', {
  skip,
}, async () => {
  const snapshot = newTestFolder()
  writeSampleInventory(snapshot)
  const command = spawn(svcCommand, ['console', snapshot, '--port', '19189'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const page = await openFirefox()
  try {
    const [printed] = (await once(command.stdout!, 'data')) as [Buffer]
    await page.open(/http:\S+/.exec(String(printed))![0])
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
