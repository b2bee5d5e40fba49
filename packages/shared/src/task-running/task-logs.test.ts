import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import {
  recordingLogger,
  standInBucket,
  startS3StandIn,
  temporaryFolder,
  testSettings,
} from '../testing/index.ts'
import { openTaskLogs } from './index.ts'
import { openGrowingLog } from './task-logs.ts'

const standIn = await startS3StandIn({ after })
const logs = openTaskLogs(
  testSettings('worker', {
    'svc.indexer.logs.type': 's3',
    'svc.indexer.logs.s3Bucket': standInBucket,
    'svc.s3.accessKey': standIn.accessKey,
    'svc.s3.secretKey': standIn.secretKey,
    'svc.s3.endpoint.url': standIn.url,
    'svc.s3.enablePathStyleAccess': 'true',
    'svc.s3.retryTimeout': 'PT0.2S',
  }),
)
const folder = temporaryFolder({ after })
const stored = (): string | undefined => standIn.objects.get('a%2Fb.log')?.bytes.toString()

async function attempt(number: number) {
  const workDirectory = path.join(folder, String(number))
  mkdirSync(workDirectory)
  const logger = recordingLogger()
  const log = await openGrowingLog(logs, { taskId: 'a/b', attempt: number, workDirectory }, logger)
  return { ...log, logger }
}

describe('the log of a task in S3', () => {
  it('continues the log of earlier attempts, which may have run elsewhere', async () => {
    for (const number of [1, 2]) {
      const log = await attempt(number)
      appendFileSync(log.file, `attempt ${number}\n`)
      await log.close()
      assert.deepEqual(log.logger.lines, [])
    }
    assert.equal(stored(), 'attempt 1\nattempt 2\n')
  })

  it('does not change how the task ends if it cannot be stored', async () => {
    const log = await attempt(3)
    appendFileSync(log.file, 'attempt 3\n')
    await standIn.stop()
    await log.close()
    await standIn.start()
    assert.equal(stored(), 'attempt 1\nattempt 2\n')
    const [line] = log.logger.having('Failed to store the log of a task')
    assert.equal(line?.details.task, 'a/b')
    assert.match(String(line?.details.error), /Failed to write to task log storage \[s3:.*: ECONNREFUSED/)
  })
})
