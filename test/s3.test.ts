// Deep storage and task logs in S3: a cluster with the stand-in for S3 of other tests, which is unavailable for a while in the
// middle of everything that uses it. `npm run test:storage` does the same with a real server.

import { after } from 'node:test'
import { standInBucket, startS3StandIn } from '@svc/shared/testing'
import { testClusterOnS3 } from './support/s3-cases.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

const folder = newTestFolder()
after(() => removeTestFolder(folder))
const { stop, objects, ...standIn } = await startS3StandIn({ after })

await testClusterOnS3(
  {
    ...standIn,
    bucket: standInBucket,
    keys: (prefix) => [...objects.keys()].filter((key) => key.startsWith(prefix)),
    kill: stop,
  },
  folder,
)
