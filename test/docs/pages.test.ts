// Runs the commands of README and the how-to pages as a reader would, and compares what they print with the pages.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { findRedis } from '@svc/cli/redis'
import { drawPicture, pictureFile } from './picture.ts'
import { isUpdating, pagesOf, runPageInClone } from './run-page.ts'
import { ownNetwork } from './shell-session.ts'

// The pages use the default ports. Without a network of its own, a page needs these ports to be free on this
// machine.
const launch = ownNetwork() ?? []

// A page in a network of its own cannot download anything.
before(async () => {
  const cacheFolder = path.join(repositoryRoot, '.cache/redis')
  await findRedis({ searchPath: process.env.PATH ?? '', cacheFolder, onDownload: () => undefined })
})

// A cluster mostly waits while it starts and stops, so two pages at once take little more than half the time.
describe('pages', { concurrency: launch.length > 0 ? 2 : 1 }, () => {
  for (const name of pagesOf('docs', process.env.SVC_DOCS_PAGE ?? ''))
    test(`the commands of ${name} print what it shows`, () => runPageInClone(name, { launch: () => launch }))
})

after(() => {
  if (isUpdating) writeFileSync(pictureFile, drawPicture())
})
