// Runs the commands of the how-to pages about containers as a reader would, with names and ports of their own.
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
        words: name.includes('one-container')
          ? wordsOfOneContainer(project, port)
          : { 'localhost:9088': `localhost:${port}`, 'svc-coordinator-1': `${project}-coordinator-1` },
      })
    } finally {
      await runDocker(['compose', '--profile', '*', 'down', '--volumes', '--timeout', '20'], environment)
      await runDocker(['rm', '--force', '--volumes', project])
      await runDocker(['volume', 'rm', '--force', `${project}-data`])
      await runDocker(['image', 'rm', '--force', `${project}-image`])
    }
  })

/** The names of the container, its volume, and its image, and the published port, so that they do not affect others. */
const wordsOfOneContainer = (project: string, port: string) => ({
  '127.0.0.1:9088:9088': `127.0.0.1:${port}:9088`,
  'https://localhost:9088': `https://localhost:${port}`,
  'svc-data': `${project}-data`,
  'svc-cluster': `${project}-image`,
  '--name svc ': `--name ${project} `,
  "' svc)": `' ${project})`,
  'docker logs svc': `docker logs ${project}`,
  'docker exec svc ': `docker exec ${project} `,
  'docker cp svc:': `docker cp ${project}:`,
  'docker stop svc': `docker stop ${project}`,
  'docker start svc': `docker start ${project}`,
  'rm --force --volumes svc': `rm --force --volumes ${project}`,
})
