import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import type { TestCluster } from '../support/test-cluster.ts'
import { logIn } from './open-browser.ts'

/** Changes the period of a load rule on the screen of a datasource, and waits until the page shows that. */
export async function editPeriod(page: Page, from: string, to: string): Promise<void> {
  const rule = page.getByRole('button', { name: new RegExp(`Load by period ${from}`) })
  if ((await rule.getAttribute('aria-expanded')) === 'false') await rule.click()
  await page.getByLabel(/^Period/).fill(to)
  await page.getByText(`was ${from}`).waitFor()
}

/**
 * The main flow in less than a minute: edits and reviews the imported rules of the sample inventory, moves the clock by 90
 * days, and applies the edit. The clock of the cluster stays there.
 */
export async function checkMainFlow(page: Page, cluster: TestCluster): Promise<void> {
  const startedAt = performance.now()
  await logIn(page, `${cluster.routerUrl}/console/`, 'admin', cluster.adminPassword!)
  await page.getByRole('link', { name: 'Datasources', exact: true }).click()
  await page.getByRole('link', { name: 'wikipedia', exact: true }).click()
  await page.getByRole('region', { name: 'Timeline' }).waitFor()
  await editPeriod(page, 'P13M', 'P2Y')
  await page.getByRole('heading', { name: 'Review' }).waitFor()
  for (let month = 0; month < 3; month += 1) await page.getByRole('button', { name: '+1 month' }).click()
  await page.getByText(/^Preview of \d{4}/).waitFor()
  await page.getByRole('button', { name: 'Move the clock…' }).click()
  await page.getByRole('button', { name: 'Move the clock', exact: true }).click()
  await page.getByText('Preview of an unsaved edit').waitFor()
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText('Applied.').waitFor()
  assert.ok(performance.now() - startedAt < 60_000)
  const rules = await cluster.router.get<{ period?: string }[]>('/svc/coordinator/v1/rules/wikipedia')
  assert.deepEqual(
    rules.slice(2).map(({ period = '' }) => period),
    ['P2Y', ''],
  )
  await page.getByText('All replicas are where the rules require them.').waitFor()
}
