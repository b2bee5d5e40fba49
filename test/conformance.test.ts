// Proves that the recorded scenario of retention rules is answered as recorded: run.mjs plays it against a fresh
// cluster each time, at the coordinator itself and through the router, without security and with TLS and login.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { startTestCluster, type TestCluster } from './support/test-cluster.ts'

const fixtures = path.join(import.meta.dirname, 'fixtures/conformance')

for (const profile of ['plain', 'secure'] as const) {
  for (const instance of ['coordinator', 'router']) {
    test(`retention rules at the ${instance}, profile ${profile}`, { timeout: 180_000 }, async () => {
      const cluster = await startTestCluster({ profile })
      try {
        const { status, output } = await play('retention-rules.json', cluster, instance)
        assert.equal(lastLine(output), '62 passed, 0 failed', output)
        assert.equal(status, 0)
      } finally {
        await cluster.end()
      }
    })
  }
}

async function play(scenario: string, { urls, home, trusted, adminPassword }: TestCluster, instance: string) {
  const args = [path.join(fixtures, 'run.mjs'), '--router', urls[instance]!]
  if (trusted !== undefined) {
    const ca = path.join(home.root, 'ca.pem')
    writeFileSync(ca, trusted)
    args.push('--ca', ca)
  }
  if (adminPassword !== undefined) args.push('--auth', `admin:${adminPassword}`, '--identity', 'admin')
  return new Promise<{ status: number; output: string }>((resolve) => {
    execFile(process.execPath, [...args, path.join(fixtures, scenario)], (error, stdout, stderr) => {
      resolve({ status: error ? Number(error.code ?? 1) : 0, output: `${stdout}${stderr}` })
    })
  })
}

function lastLine(output: string): string {
  return output.trimEnd().split('\n').at(-1) ?? ''
}
