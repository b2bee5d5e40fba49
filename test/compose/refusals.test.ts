// A cluster that cannot start prints one line and leaves nothing running.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { after, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { type ComposeCluster, openComposeCluster, runDocker } from './support/compose-cluster.ts'

const clusters: ComposeCluster[] = []
after(() => Promise.all(clusters.map((cluster) => cluster.end())))

async function open(environment: Record<string, string> = {}): Promise<ComposeCluster> {
  const cluster = await openComposeCluster(environment)
  clusters.push(cluster)
  return cluster
}

/**
 * Starts a cluster that must fail to start; returns the message of the preparation, or Docker's message if
 * there is none.
 */
async function refusal(cluster: ComposeCluster): Promise<string> {
  const { status, stderr } = await cluster.tryCompose('up', '--detach', '--wait')
  assert.notEqual(status, 0)
  const running = (await cluster.containers()).filter(({ state }) => state === 'running')
  assert.deepEqual(running, [], 'something is still running')
  const message = await logOf(cluster, 'prepare-1')
  return message.startsWith('svc: ') ? message : stderr.trim().split('\n').at(-1)!
}

/** The complete output of a container. */
async function logOf({ project }: ComposeCluster, instance: string): Promise<string> {
  const { stdout, stderr } = await runDocker(['logs', `${project}-${instance}`])
  return `${stdout}${stderr}`.trim()
}

test('reports too little memory', async () => {
  assert.match(
    await refusal(await open({ SVC_MIN_MEMORY: '1000g' })),
    /^svc: The Docker host has \[[\d.]+\] GiB of memory, expected at least \[[\d.]+\] GiB \(SVC_MIN_MEMORY in \.env\)\. Give Docker more memory\.$/,
  )
})

test('reports an invalid setting', async () => {
  assert.match(
    await refusal(await open({ SVC_REPLICAS: 'many' })),
    /^svc: Invalid value \[many\] for \[SVC_REPLICAS\]: expected an integer from 1 to 999$/,
  )
})

test('reports a missing input folder', async () => {
  const cluster = await open({ SVC_INPUT: './nosuch-folder' })
  assert.match(await refusal(cluster), /nosuch-folder/)
  assert.equal(existsSync(path.join(repositoryRoot, 'nosuch-folder')), false)
})

test('reports a port that is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  try {
    assert.match(
      await refusal(await open({ SVC_ROUTER_PORT: String(port) })),
      new RegExp(`127\\.0\\.0\\.1:${port}.*(in use|already allocated|not available)`),
    )
  } finally {
    other.close()
  }
})

test('reports volumes of another version', async () => {
  const cluster = await open()
  // Creates the volumes like a first start, and then changes them to those of another version.
  await cluster.compose('run', '--rm', 'prepare')
  const other = JSON.stringify({ format: 1, postgres: '16', schema: '0001_first-schema' })
  const write = `require('fs').writeFileSync('/var/lib/svc/secrets/installation.json', ${JSON.stringify(other)})`
  await cluster.compose('run', '--rm', '--entrypoint', 'node', 'prepare', '-e', write)
  assert.match(
    await refusal(cluster),
    /^svc: The Postgres volume was created by Postgres \[16\], but POSTGRES_VERSION in \.env is \[17\]\. Set POSTGRES_VERSION back to \[16\], or delete all data of the cluster with docker compose down --volumes$/,
  )
})

test('reports more replicas than certificates', async () => {
  const cluster = await open({ SVC_REPLICAS: '1' })
  const { status, stderr } = await cluster.tryCompose('up', '--detach', '--wait', '--scale', 'historical=2')
  assert.notEqual(status, 0)
  assert.match(stderr, /historical-2 exited \(0\)/)
  assert.match(
    await logOf(cluster, 'historical-2'),
    /^svc: There is no certificate for \[[a-z0-9-]+-historical-2\]\. Increase [^\n]*$/,
  )
})

test('does not restart a server with an invalid property', async () => {
  const cluster = await open()
  const { status, stderr } = await cluster.tryCompose(
    ...['--file', path.join(import.meta.dirname, 'support/faulty.yml'), 'up', '--detach', '--wait'],
  )
  assert.notEqual(status, 0)
  assert.match(stderr, /broker-1 exited \(0\)/)
  assert.match(
    await logOf(cluster, 'broker-1'),
    /^Invalid configuration \(1 problem\).*svc_tlsPort.*\[many\]/s,
  )
})

test('reports that Docker is unavailable', async () => {
  const { status, stderr } = await runDocker(['compose', 'up', '--detach'], {
    DOCKER_HOST: 'unix:///nonexistent/docker.sock',
  })
  assert.notEqual(status, 0)
  assert.match(stderr.trim(), /^[^\n]*unix:\/\/\/nonexistent\/docker\.sock[^\n]*$/)
})
