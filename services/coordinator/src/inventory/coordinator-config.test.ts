import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { coordinatorConfigName } from '@svc/shared/coordinator-dynamic-config'
import { loadConfig, saveConfig } from '@svc/shared/postgres'
import { createTestStores } from '@svc/shared/testing'
import { followCoordinatorConfig } from './index.ts'

const { database } = await createTestStores({ after })
const audit = { author: '', comment: '', identity: '', ip: '' }
async function pause(pauseCoordination: boolean): Promise<void> {
  const { revision = 0 } = (await loadConfig(database, coordinatorConfigName)) ?? {}
  await saveConfig(database, coordinatorConfigName, JSON.stringify({ pauseCoordination }), revision, audit, 0)
}

test('the dynamic configuration is read again after changes, or always if they are not reported', async () => {
  let changes: number | undefined
  let catchUps = 0
  const config = followCoordinatorConfig(database, {
    catchUp: async () => {
      catchUps += 1
    },
    countOf: () => changes,
  })
  const isPaused = async () => (await config()).pauseCoordination
  await pause(true)
  assert.equal(await isPaused(), true)
  await pause(false)
  assert.equal(await isPaused(), false)
  changes = 0
  assert.equal(await isPaused(), false)
  await pause(true)
  assert.equal(await isPaused(), false)
  assert.equal(await config(), await config())
  changes = 1
  assert.equal(await isPaused(), true)
  assert.equal(catchUps, 7)
})
