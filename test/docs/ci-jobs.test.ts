// The jobs for CI systems that pages show run only commands that the same page runs: the tests of the pages run these.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { jobsOf } from '../support/ci-jobs.ts'
import { readPage } from './read-page.ts'

/** What the jobs of a page run first and last. A job that starts a service runs neither: the service is tested with the image. */
const pages = [
  { name: 'test-a-client-in-ci', start: /^\.\/svc up /, end: './svc down' },
  { name: 'one-container', start: /^docker run .* svc-cluster$/, end: 'docker rm --force --volumes svc' },
]

/** One command per line: a line that ends with a backslash continues, and the width of indents does not matter. */
const commandsOf = (text: string): string[] =>
  text
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** Commands of a job that belong to the user's repository. */
const isOwn = (command: string): boolean =>
  /^(npm test$|cd (svc|\.\.)$|git (init|fetch|checkout) )/.test(command)

function scriptsOf(job: unknown): string[] {
  if (typeof job !== 'object' || job === null) return []
  return Object.entries(job).flatMap(([key, value]) => {
    if (!['run', 'script', 'before_script', 'after_script'].includes(key)) return scriptsOf(value)
    return [value].flat() as string[]
  })
}

for (const { name, start, end } of pages)
  describe(`the jobs for CI systems in ${name}.md`, () => {
    const markdown = readFileSync(path.join(repositoryRoot, `docs/how-to/${name}.md`), 'utf8')
    const jobs = jobsOf(markdown)
    const ofPage = new Set(
      readPage(markdown).blocks.flatMap(({ commands, notRun }) => (notRun ? [] : commandsOf(commands))),
    )

    test('there are two', () => assert.equal(jobs.length, 2))

    for (const job of jobs) {
      test(`${Object.keys(job)[0]} runs commands that the page runs`, () => {
        const commands = scriptsOf(job).flatMap(commandsOf)
        assert.ok(commands.includes('npm test'))
        const hasService = JSON.stringify(job).includes('"services"')
        assert.equal(
          commands.some((command) => start.test(command)),
          !hasService,
        )
        assert.equal(commands.includes(end), !hasService)
        for (const command of commands) assert.ok(isOwn(command) || ofPage.has(command), command)
      })
    }
  })
