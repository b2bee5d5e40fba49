import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unavailable } from '@svc/domain/failure'
import { recordingLogger, waitUntil } from '../testing/index.ts'
import type { ServerReport } from './report.ts'
import { startStandbyReports } from './standby-reports.ts'

test('a coordinator that refuses reports gets them less and less often, and is logged once', async () => {
  const logger = recordingLogger()
  const attemptsMs: number[] = []
  const context = {
    client: {
      call: async () => {
        attemptsMs.push(performance.now())
        throw unavailable('not yet')
      },
    },
    discovery: { hasLeader: () => false, nodes: () => [{ baseUrl: 'https://standby' }] },
    logger,
    stopping: new AbortController().signal,
  } as unknown as Parameters<typeof startStandbyReports>[0]
  const due = [{ name: 'historical', segments: null } as ServerReport]
  const loop = startStandbyReports(context, () => ({ due: () => due, answered: () => undefined }))
  await waitUntil('three attempts', () => attemptsMs.length === 3)
  await loop.stop()
  const [, second, third] = attemptsMs as [number, number, number]
  assert.ok(third - second >= 2000, attemptsMs.join(' '))
  assert.equal(logger.lines.length, 1)
})
