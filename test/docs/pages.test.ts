// Runs the commands of README and the how-to pages as a reader would, and compares what they print with the pages.
import { test } from 'node:test'
import { pagesOf, runPageInClone } from './run-page.ts'
import { ownNetwork } from './shell-session.ts'

const isUpdating = process.env.SVC_DOCS_UPDATE === '1'
// The pages use the default ports. Without a network of its own, a page needs them to be free on this machine.
const launch = ownNetwork() ?? []

for (const name of pagesOf('docs', process.env.SVC_DOCS_PAGE ?? ''))
  test(`the commands of ${name} print what it shows`, () =>
    runPageInClone(name, isUpdating, { launch: () => launch }))
