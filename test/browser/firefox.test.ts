// The main flow of the console in Firefox ESR, over WebDriver BiDi. Everything else is tested in Chromium.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { checkMainFlow } from './main-flow.ts'
import { firefoxFile, openFirefox, openPage } from './open-browser.ts'
import { startSampleCluster } from './sample-cluster.ts'

const skip = firefoxFile === undefined && 'Firefox is not on PATH (Debian: apt-get install firefox-esr)'

test('Firefox: edits imported rules, moves the clock by 90 days, and applies them', { skip }, async () => {
  const snapshot = newTestFolder()
  const cluster = await startSampleCluster(snapshot)
  const browser = await openFirefox()
  try {
    const { page, problems } = await openPage(browser)
    await checkMainFlow(page, cluster)
    assert.deepEqual(problems, [])
  } finally {
    await browser.close()
    await cluster.end()
    removeTestFolder(snapshot)
  }
})
