// The GitHub Action in action.yml: runs ./svc plan, and posts the plan as a comment on the pull request. It runs with the
// Node.js of the runner, so it is plain JavaScript without dependencies.

import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const { env } = process
const folder = mkdtempSync(path.join(env.RUNNER_TEMP ?? tmpdir(), 'svc-plan-'))
const planFile = path.join(folder, 'plan.json')
const passwordFile = path.join(folder, 'password')
const exitStatus = { done: 0, refused: 4, differs: 5 }
// GitHub refuses comments with more characters.
const maxCommentLength = 65_000

/** Runs ./svc plan. */
function runPlan() {
  const { INPUT_STATE: state = 'state', INPUT_URL: url = '', INPUT_USER: user } = env
  const args = ['plan', state, '--url', url, '--markdown', '--out', planFile]
  if (user) {
    writeFileSync(passwordFile, env.INPUT_PASSWORD ?? '', { mode: 0o600 })
    args.push('--user', user, '--password-file', passwordFile)
  }
  if (env.INPUT_CERTIFICATES) args.push('--trust', env.INPUT_CERTIFICATES)
  if (env.INPUT_POLICY) args.push('--policy', env.INPUT_POLICY)
  if (env.INPUT_FAIL_ON) args.push('--fail-on', env.INPUT_FAIL_ON)
  if (env.INPUT_HORIZON) args.push('--horizon', env.INPUT_HORIZON)
  if (env.INPUT_CREATE === 'true') args.push('--create')
  for (const part of (env.INPUT_TARGET ?? '').split('\n'))
    if (part.trim() !== '') args.push('--target', part.trim())
  const svc = path.join(import.meta.dirname, '..', '..', 'svc')
  const { status, stdout, stderr, error } = spawnSync(svc, args, { encoding: 'utf8', maxBuffer: 2 ** 30 })
  // A later step may save this folder as an artifact.
  rmSync(passwordFile, { force: true })
  if (error) throw error
  log(stdout, stderr)
  return { status: status ?? 1, stdout, stderr }
}

/** Prints the plan to the log. Names in it may look like commands to the runner, such as `##[set-output name=plan]x`. */
function log(stdout, stderr) {
  const token = randomUUID()
  console.log(`::stop-commands::${token}`)
  process.stdout.write(`${stdout}${stderr}`)
  console.log(`\n::${token}::`)
}

/** Returns the text of the comment: the plan, or why it failed. */
function commentOf({ status, stdout, stderr }) {
  const isPlanned = stdout !== ''
  const notes = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('Saved plan'))
  const quoted = [fence(notes), ...notes, fence(notes)].join('\n')
  const parts = isPlanned
    ? [...(status === exitStatus.refused ? ['### The check failed', quoted] : []), stdout]
    : ['## The plan failed', quoted]
  const text = [marker(), ...parts].join('\n\n')
  if (text.length <= maxCommentLength) return text
  const start = text.slice(0, text.lastIndexOf('\n', maxCommentLength) + 1)
  return `${start}${openFence(start)}\nThe plan is too long for a comment: see the log of the check.`
}

/** Returns the line that ends the code block in which a text ends; nothing if it ends in none. */
function openFence(text) {
  let open = ''
  for (const [, line] of text.matchAll(/^(`{3,})(?:\w*)$/gm))
    open = open === '' ? line : open === line ? '' : open
  return open && `${open}\n`
}

/** Returns the fence that begins and ends a code block. It is longer than any fence in these lines. */
function fence(lines) {
  const longest = Math.max(2, ...lines.map((line) => (/`+/.exec(line) ?? [''])[0].length))
  return '`'.repeat(longest + 1)
}

/** Marks the comment so that later runs update it. A pull request has one comment for each cluster and folder. */
const marker = () =>
  `<!-- svc plan ${JSON.stringify([env.INPUT_STATE, env.INPUT_URL]).replaceAll('--', '- -')} -->`

/** The number of the pull request; undefined if another event started the workflow. */
function pullRequest() {
  if (!env.GITHUB_EVENT_PATH) return undefined
  return JSON.parse(readFileSync(env.GITHUB_EVENT_PATH, 'utf8')).pull_request?.number
}

async function callGitHub(method, route, body) {
  const response = await fetch(`${env.GITHUB_API_URL}${route}`, {
    method,
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${env.INPUT_TOKEN}`,
      'content-type': 'application/json',
      'x-github-api-version': '2022-11-28',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`GitHub returned status ${response.status} (${method} ${route})`)
  return await response.json()
}

const pageSize = 100
const repository = `/repos/${env.GITHUB_REPOSITORY}`

/**
 * Returns a test for comments by this token. Otherwise, the author of a pull request could add a comment that looks like that of
 * an earlier run, and edit the plan in it later. Only people can look up their name: tokens of workflows belong to bots.
 */
async function authorTest() {
  const user = await callGitHub('GET', '/user').catch(() => undefined)
  return user === undefined
    ? (comment) => comment.user?.type === 'Bot'
    : (comment) => comment.user?.login === user.login
}

/** Updates the comment of an earlier run, or creates a comment. */
async function post(number, text) {
  const isOwn = await authorTest()
  for (let page = 1; ; page += 1) {
    const route = `${repository}/issues/${number}/comments?per_page=${pageSize}&page=${page}`
    const comments = await callGitHub('GET', route)
    const own = comments.find((comment) => comment.body?.startsWith(marker()) && isOwn(comment))
    if (own) {
      await callGitHub('PATCH', `${repository}/issues/comments/${own.id}`, { body: text })
      return
    }
    if (comments.length < pageSize) break
  }
  await callGitHub('POST', `${repository}/issues/${number}/comments`, { body: text })
}

function append(file, text) {
  if (file) appendFileSync(file, `${text}\n`)
}

const result = runPlan()
const text = commentOf(result)
append(env.GITHUB_STEP_SUMMARY, text)
const isPlanned = result.status === exitStatus.done || result.status === exitStatus.differs
const hasPlan = result.stdout !== ''
append(env.GITHUB_OUTPUT, `changes=${hasPlan && result.status !== exitStatus.done}`)
if (isPlanned) append(env.GITHUB_OUTPUT, `plan=${planFile}`)
const number = pullRequest()
if (number !== undefined) {
  // The token of a pull request from a fork may not write comments, but the plan is also in the summary of the check.
  await post(number, text).catch((error) =>
    console.log(`::warning::Failed to post the plan as a comment: ${error.message}`),
  )
}
if (!isPlanned) process.exitCode = result.status
