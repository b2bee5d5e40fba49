// The jobs for CI systems that a page shows run only commands that the same page runs: the test of the pages runs these.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, test } from 'node:test'
import { repositoryRoot } from '@svc/cli/home'
import { parse } from 'yaml'
import { readPage } from './read-page.ts'

const markdown = readFileSync(path.join(repositoryRoot, 'docs/how-to/test-a-client-in-ci.md'), 'utf8')

/** One command per line: a line that ends with a backslash continues, and the width of indents does not matter. */
const commandsOf = (text: string): string[] =>
  text
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

const ofPage = new Set(
  readPage(markdown).blocks.flatMap(({ commands, notRun }) => (notRun ? [] : commandsOf(commands))),
)

/** Commands of a job that belong to the user's repository. */
const isOwn = (command: string): boolean => /^(npm test$|cd (svc|\.\.)$|git (init|fetch|checkout) )/.test(command)

function scriptsOf(job: unknown): string[] {
  if (typeof job !== 'object' || job === null) return []
  return Object.entries(job).flatMap(([key, value]) => {
    if (!['run', 'script', 'before_script', 'after_script'].includes(key)) return scriptsOf(value)
    return [value].flat() as string[]
  })
}

const jobs = [...markdown.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text]) => parse(text!) as object)

describe('the jobs for CI systems', () => {
  test('there are two', () => assert.equal(jobs.length, 2))

  for (const job of jobs) {
    test(`${Object.keys(job)[0]} runs commands that the page runs`, () => {
      const commands = scriptsOf(job).flatMap(commandsOf)
      assert.ok(commands.some((command) => command.startsWith('./svc up ')))
      assert.ok(commands.includes('./svc down'))
      for (const command of commands) assert.ok(isOwn(command) || ofPage.has(command), command)
    })
  }
})
