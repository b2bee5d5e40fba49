import { existsSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { homeLayout, repositoryRoot } from '@svc/cli/home'
import { runSvc } from '../support/svc-command.ts'
import { makeClone } from './clone.ts'
import { outputDifference, refreshedOutput } from './compare-output.ts'
import { type CommandBlock, readPage, withOutputs } from './read-page.ts'
import { openSession, type ShellSession } from './shell-session.ts'

/** The folder of a reader's clone in shown output. */
const shownFolder = '/home/you/svc'
/** Milliseconds that a block may take by default: starting a cluster on a busy machine takes long. */
const defaultMaxBlockMs = 300_000

/** Whether to write actual outputs to the pages instead of comparing them. */
export const isUpdating = process.env.SVC_DOCS_UPDATE === '1'

/** How the commands of a page are run. */
export interface PageSetting {
  /** The folder to use on each machine; blocks without a machine use the key ''. */
  readonly folder: (machine: string) => string
  /** Command line that runs bash on a machine. */
  readonly launch: (machine: string) => readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Milliseconds that a block may take. */
  readonly maxBlockMs?: number
  /** Words of the page and their replacements in this run, such as another port. */
  readonly words?: Readonly<Record<string, string>>
}

/**
 * Returns the pages whose commands a suite runs and whose name contains `pattern`. Throws an Error if a page
 * cannot be read.
 */
export function pagesOf(suite: string, pattern: string): string[] {
  const all = ['README.md', ...globSync('docs/{how-to/*,troubleshooting}.md', { cwd: repositoryRoot })]
  return all.filter((name) => name.includes(pattern) && suiteOf(name) === suite)
}

function suiteOf(name: string): string {
  try {
    return readPage(readFileSync(path.join(repositoryRoot, name), 'utf8')).suite
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`)
  }
}

/**
 * Runs a page of the repository in its own clone, and updates the page if `isUpdating`. Throws an Error with page and line if
 * a command fails or its output differs from the page, or if the page leaves a cluster running.
 */
export async function runPageInClone(name: string, setting: Omit<PageSetting, 'folder'>): Promise<void> {
  const file = path.join(repositoryRoot, name)
  const clones = new Map<string, string>()
  const cloneOf = (machine: string): string => {
    const label = [path.basename(name, '.md'), machine].filter((part) => part !== '').join('-')
    const folder = clones.get(machine) ?? makeClone(label)
    clones.set(machine, folder)
    return folder
  }
  const stopAll = async () => (await Promise.all([...clones.values()].map(stopClusters))).flat()
  try {
    const markdown = readFileSync(file, 'utf8')
    const updated = await runPage(name, markdown, isUpdating, { ...setting, folder: cloneOf })
    if (updated !== markdown) writeFileSync(file, updated)
    const left = await stopAll()
    if (left.length > 0)
      throw new Error(`${name}: leaves a cluster running in [${left.join(', ')}]; stop it with ./svc down`)
  } finally {
    await stopAll()
    for (const folder of clones.values()) rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Runs the commands of a page in order, in one shell per machine, and compares their output with the page. Returns the
 * page, with the actual output if `shallUpdate`. Throws an Error with page and line of the first block whose status or
 * output differs from the page.
 */
export async function runPage(
  name: string,
  markdown: string,
  shallUpdate: boolean,
  setting: PageSetting,
): Promise<string> {
  const page = readPage(markdown)
  const sessions = new Map<string, ShellSession>()
  const outputs: (string | undefined)[] = []
  try {
    for (const block of page.blocks) {
      const machine = block.machine ?? ''
      const session = sessions.get(machine) ?? openPageSession(name, machine, setting)
      sessions.set(machine, session)
      outputs.push(block.notRun === undefined ? await runBlock(name, block, session, setting) : undefined)
      const output = outputs.at(-1)
      if (block.output && output !== undefined) {
        if (shallUpdate) outputs[outputs.length - 1] = refreshedOutput(block.output.text, output)
        else assertShown(name, block.output, output)
      }
    }
  } finally {
    await Promise.all([...sessions.values()].map((session) => session.close()))
  }
  return shallUpdate ? withOutputs(markdown, page, outputs) : markdown
}

function openPageSession(name: string, machine: string, setting: PageSetting): ShellSession {
  const folder = setting.folder(machine)
  return openSession({
    folder,
    scratch: path.join(folder, '.page'),
    name,
    launch: setting.launch(machine),
    environment: { COLUMNS: '100', NO_COLOR: '1', ...setting.environment },
    maxBlockMs: setting.maxBlockMs ?? defaultMaxBlockMs,
  })
}

/** Runs one block; returns its output in the words of the page. */
async function runBlock(
  name: string,
  block: CommandBlock,
  session: ShellSession,
  { folder, words = {}, maxBlockMs = defaultMaxBlockMs }: PageSetting,
): Promise<string> {
  const commands = replaceAll(block.commands, Object.entries(words))
  const { status, output } = await session.run({
    commands,
    line: block.line,
    runsOn: block.exitStatus !== 0,
  })
  if (status !== block.exitStatus) {
    const ending =
      status === undefined ? `did not end within ${maxBlockMs / 1000} s` : `ended with status ${status}`
    throw new Error(
      `${name}:${block.line}: the block ${ending}, expected ${block.exitStatus}:\n${block.commands}\n\nIt printed:\n${output}`,
    )
  }
  const inPage = Object.entries(words).map(([word, here]) => [here, word] as const)
  return replaceAll(output, [[folder(block.machine ?? ''), shownFolder], ...inPage])
}

function assertShown(name: string, shown: { line: number; text: string }, actual: string): void {
  const difference = outputDifference(shown.text, actual)
  if (difference !== undefined)
    throw new Error(
      `${name}:${shown.line}: the output differs from the page (- page, + actual); ` +
        `npm run test:docs -- --update rewrites the page:\n${difference}`,
    )
}

function replaceAll(text: string, words: readonly (readonly [string, string])[]): string {
  return words.reduce((replaced, [from, to]) => replaced.replaceAll(from, to), text)
}

/** Stops the clusters whose homes are in a folder; returns the names of those that were running. */
async function stopClusters(folder: string): Promise<string[]> {
  const homes = readdirSync(folder).filter((name) => existsSync(homeLayout(path.join(folder, name)).marker))
  const stopped: string[] = []
  for (const home of homes) {
    const { stdout } = await runSvc('down', '--home', path.join(folder, home))
    if (stdout.startsWith('Stopped')) stopped.push(home)
  }
  return stopped
}
