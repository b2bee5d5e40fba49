// Runs the commands of the how-to page for Docker Compose as a reader would, in a project and on a port of its
// own.
import { test } from 'node:test'
import { freePort } from '@svc/shared/testing'
import { pagesOf, runPageInClone } from '../docs/run-page.ts'
import { runDocker } from './support/compose-cluster.ts'

for (const name of pagesOf('compose', ''))
  test(`the commands of ${name} print what it shows`, async () => {
    const port = String(await freePort())
    const project = `svc-docs-${port}`
    const environment = { COMPOSE_PROJECT_NAME: project, SVC_ROUTER_PORT: port }
    try {
      await runPageInClone(name, {
        launch: () => [],
        environment,
        words: { 'localhost:9088': `localhost:${port}`, 'svc-coordinator-1': `${project}-coordinator-1` },
      })
    } finally {
      await runDocker(['compose', '--profile', '*', 'down', '--volumes', '--timeout', '20'], environment)
    }
  })
