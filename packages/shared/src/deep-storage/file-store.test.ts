import { join } from 'node:path'
import { after } from 'node:test'
import { describeFileStore, startS3StandIn, temporaryFolder } from '../testing/index.ts'
import { openStore } from './index.ts'
import { placeOf } from './test-s3.ts'

const scope = { after }
const standIn = await startS3StandIn(scope)
let stores = 0

describeFileStore('a folder', async () =>
  openStore('deep storage', { type: 'local', rootDirectory: join(temporaryFolder(scope), 'storage') }),
)

describeFileStore('S3', async () => {
  stores += 1
  return openStore('deep storage', placeOf(standIn, { baseKey: `base/of %C3 segments/${stores}` }))
})
