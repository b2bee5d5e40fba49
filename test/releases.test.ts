// The workflows of continuous integration and of releases, and the files that name the version.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { parse } from 'yaml'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
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

interface Stage {
  readonly name: string
  /** The image or the stage that it starts from. */
  readonly base: string
  readonly platform: string | undefined
  readonly instructions: readonly string[]
}

function stagesOf(dockerfile: string): Stage[] {
  const [, ...stages] = dockerfile.split(/^FROM /m)
  return stages.map((stage) => {
    const [, platform, base, name] = /^(?:--platform=(\S+) )?(\S+) AS (\S+)$/m.exec(stage)!
    const instructions = [...stage.matchAll(/^([A-Z]+) /gm)].map(([, instruction]) => instruction!)
    return { name: name!, base: base!, platform, instructions }
  })
}

for (const [name, { permissions, jobs }] of workflows) {
  describe(`the workflow ${name}`, () => {
    test('can only read the repository, unless a job needs more', () => {
      assert.deepEqual(permissions, { contents: 'read' })
    })

    test('uses actions by the hash of a commit, because tags can be moved', () => {
      const uses = read(`.github/workflows/${name}.yml`).match(/^ +-? ?uses: .*$/gm)!
      assert.ok(uses.length > 0)
      for (const line of uses)
        assert.match(line, /uses: (actions|docker)\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/)
    })

    test('checks out sources without leaving the token of the job behind', () => {
      for (const { uses = '', with: options } of Object.values(jobs).flatMap(({ steps }) => steps))
        if (uses.startsWith('actions/checkout')) assert.equal(options?.['persist-credentials'], false)
    })

    test('has a time limit for every job', () => {
      for (const job of Object.values(jobs)) assert.ok(job['timeout-minutes'] > 0)
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
        for (const [file] of run.matchAll(/(?<=^|\s)(\.\/(?!release\/)|launcher\/|\.ci\/)[\w./-]+/g))
          assert.ok(existsSync(path.join(repositoryRoot, file)), file)
      }
    })
  })
}

describe('a release', () => {
  test('begins with a tag of a version', () => {
    assert.deepEqual(release.on, { push: { tags: ['v*'] } })
  })

  test('publishes nothing until the version is checked and the images are built', () => {
    assert.deepEqual([release.jobs.package!.needs].flat(), ['assets', 'image'])
    assert.equal(release.jobs['image-part']!.needs, 'assets')
  })

  test('publishes the package with provenance, and images with an SBOM for two architectures', () => {
    assert.match(
      runsOf(release.jobs.package!).join('\n'),
      /^npm publish --provenance --access public \.\/release\/\*\.tgz$/m,
    )
    assert.equal(release.jobs.package!.permissions!['id-token'], 'write')
    const text = read('.github/workflows/release.yml')
    assert.match(text, /^ +sbom: true$/m)
    assert.match(text, /^ +architecture: \[amd64, arm64\]$/m)
    assert.equal(text.match(/^ +target: \[servers, cluster\]$/gm)?.length, 2)
  })

  test('emulates nothing: every image is built on a machine of its own architecture', () => {
    const { 'runs-on': machine, steps } = release.jobs['image-part']!
    assert.match(machine, /arm64/)
    for (const { uses = '' } of steps) assert.doesNotMatch(uses, /qemu/)
  })

  test('can also be built for another architecture: only stages for the platform of the builder run commands', () => {
    const stages = stagesOf(read('Dockerfile'))
    const isOfBuilder = (name: string): boolean => {
      const { base, platform } = stages.find((stage) => stage.name === name) ?? {}
      return platform === '$BUILDPLATFORM' || (base !== undefined && isOfBuilder(base))
    }
    const running = stages.filter(({ instructions }) => instructions.includes('RUN')).map(({ name }) => name)
    assert.ok(running.length > 0)
    assert.deepEqual(
      running.filter((name) => !isOfBuilder(name)),
      [],
    )
    for (const target of ['servers', 'cluster']) assert.ok(!isOfBuilder(target), target)
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
    for (const tag of ['1.0', `v${version}-rc.1`])
      assert.match(run('assets', tag, '/nosuch/folder'), /^svc: Invalid arguments: expected \[assets\]/)
  })

  test('is refused if a file names another version', () => {
    const script = read('launcher/release.mjs')
    const files = [...script.matchAll(/^ {2}\['([^']+)', \//gm)].map(([, file]) => file!)
    for (const file of ['package.json', '.env', 'clients/java/pom.xml', 'clients/node/package.json'])
      assert.ok(files.includes(file), file)
    for (const changed of files) {
      const folder = newTestFolder()
      for (const file of [...files, 'launcher/release.mjs', 'launcher/bundle.mjs']) {
        mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
        const text = read(file)
        writeFileSync(path.join(folder, file), file === changed ? text.replaceAll(version, '99.0.0') : text)
      }
      const { stderr } = spawnSync(
        process.execPath,
        ['launcher/release.mjs', 'assets', `v${version}`, 'release'],
        {
          cwd: folder,
          encoding: 'utf8',
        },
      )
      assert.equal(stderr, `svc: ${changed} has version [99.0.0], expected [${version}]\n`)
      removeTestFolder(folder)
    }
  })
})
