// The workflows of continuous integration and of releases, and the files that name the version.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { parse } from 'yaml'

interface Step {
  readonly uses?: string
  readonly run?: string
}

interface Job {
  readonly 'runs-on': string
  readonly 'timeout-minutes': number
  readonly permissions?: Readonly<Record<string, string>>
  readonly needs?: string | readonly string[]
  readonly steps: readonly Step[]
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

const read = (file: string): string => readFileSync(path.join(repositoryRoot, file), 'utf8')
const { scripts, version } = JSON.parse(read('package.json')) as {
  scripts: Record<string, string>
  version: string
}
const workflows = new Map(
  ['check', 'release'].map((name) => [name, parse(read(`.github/workflows/${name}.yml`)) as Workflow]),
)
const release = workflows.get('release')!
const runsOf = ({ steps }: Job): string[] => steps.flatMap(({ run }) => (run === undefined ? [] : [run]))

for (const [name, { permissions, jobs }] of workflows) {
  describe(`the workflow ${name}`, () => {
    test('can only read the repository, unless a job needs more', () => {
      assert.deepEqual(permissions, { contents: 'read' })
    })

    test('uses versions of actions, and every job has a time limit', () => {
      for (const job of Object.values(jobs)) {
        assert.ok(job['timeout-minutes'] > 0)
        for (const { uses = 'a/b@v1' } of job.steps)
          assert.match(uses, /^(actions|docker)\/[\w-]+@v\d+$|^a\/b@v1$/)
      }
    })

    test('has jobs that need existing ones', () => {
      for (const { needs = [] } of Object.values(jobs))
        for (const needed of [needs].flat()) assert.ok(needed in jobs, needed)
    })

    test('runs scripts that exist and that the shell can read', () => {
      for (const run of Object.values(jobs).flatMap(runsOf)) {
        execFileSync('bash', ['-n', '-c', run])
        for (const [command, script = ''] of run.matchAll(/\bnpm run ([\w:-]+)/g))
          assert.ok(script in scripts, command)
        for (const [file] of run.matchAll(/(?<=^|\s)(\.\/|launcher\/|\.ci\/)[\w./-]+/g))
          assert.ok(existsSync(path.join(repositoryRoot, file)), file)
      }
    })
  })
}

describe('a release', () => {
  test('begins with a tag of a version', () => {
    assert.deepEqual(release.on, { push: { tags: ['v*'] } })
  })

  test('publishes nothing before the version was checked and the images were built', () => {
    assert.deepEqual([release.jobs.package!.needs].flat(), ['assets', 'image'])
    assert.equal(release.jobs['image-part']!.needs, 'assets')
  })

  test('publishes the package with provenance, and images with an SBOM for two architectures', () => {
    assert.match(runsOf(release.jobs.package!).join('\n'), /npm publish --provenance/)
    assert.equal(release.jobs.package!.permissions!['id-token'], 'write')
    const text = read('.github/workflows/release.yml')
    assert.match(text, /^ +sbom: true$/m)
    assert.match(text, /^ +architecture: \[amd64, arm64\]$/m)
    assert.equal(text.match(/^ +target: \[servers, cluster\]$/gm)?.length, 2)
  })

  test('names images in lower case, whatever the case of the repository is', () => {
    const jobs = [release.jobs['image-part']!, release.jobs.image!]
    for (const job of jobs) {
      const setName = runsOf(job).find((run) => run.includes('GITHUB_ENV'))!
      const script = `GITHUB_ENV=$(mktemp); ${setName}; cat "$GITHUB_ENV"; rm "$GITHUB_ENV"`
      const env = { ...process.env, GITHUB_REPOSITORY: 'Example/Cluster' }
      assert.equal(
        execFileSync('bash', ['-c', script], { env, encoding: 'utf8' }),
        'IMAGE=ghcr.io/example/cluster\n',
      )
    }
  })

  test('has an entry in CHANGELOG.md', () => {
    assert.match(read('CHANGELOG.md'), new RegExp(`^## ${version.replaceAll('.', '\\.')}( |$)`, 'm'))
  })

  test('is refused if the tag is not the version that the files name', () => {
    const script = path.join(repositoryRoot, 'launcher/release.mjs')
    const run = (...args: string[]): string => {
      try {
        return execFileSync(process.execPath, [script, ...args], { encoding: 'utf8', stdio: 'pipe' })
      } catch (error) {
        return (error as { stderr: string }).stderr
      }
    }
    assert.equal(
      run('assets', 'v99.0.0', '/nosuch/folder'),
      `svc: package.json has version [${version}], expected [99.0.0]\n`,
    )
    assert.match(run('assets', '1.0', 'folder'), /^svc: Invalid arguments: expected \[assets\]/)
  })
})
