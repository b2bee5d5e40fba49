import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { repositoryRoot } from '../home/index.ts'
import { nodeVersionProblem } from './node-version.ts'

test('Node.js must be new enough', () => {
  for (const version of ['22.18.0', '22.19.1', '24.0.0', '26.10.0'])
    assert.equal(nodeVersionProblem(version), undefined, version)
  for (const version of ['18.20.8', '20.20.2', '21.99.0', '22.9.0', '22.17.1'])
    assert.match(
      nodeVersionProblem(version)!,
      new RegExp(`22\\.18 or newer is required, .* \\[${version}\\]\\. Get`),
    )
})

test('the package declares the same version', () => {
  const file = path.join(repositoryRoot, 'launcher/package/package.json')
  const { engines } = JSON.parse(readFileSync(file, 'utf8')) as { engines: { node: string } }
  const declared = engines.node.replace('>=', '')
  assert.equal(nodeVersionProblem(`${declared}.0`), undefined)
  const [major, minor] = declared.split('.').map(Number)
  assert.ok(nodeVersionProblem(`${major}.${minor! - 1}.0`))
})
