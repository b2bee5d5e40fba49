import { spawn } from 'node:child_process'
import path from 'node:path'
import { bundleOf } from '../bundles/index.ts'
import { repositoryRoot } from '../home/index.ts'
import { emphasized, formatSeconds } from '../terminal/index.ts'

/** The checks with their commands (a tool of node_modules, or an absolute path); all run concurrently. Caches are in .cache. */
const checks: readonly { name: string; command: readonly string[] }[] = [
  { name: 'types', command: ['tsc', '-p', 'tsconfig.json', '--noEmit'] },
  { name: 'domain purity', command: ['tsc', '-p', 'packages/domain/tsconfig.json', '--noEmit'] },
  { name: 'console types', command: ['tsc', '-p', 'console/tsconfig.json', '--noEmit'] },
  { name: 'console test types', command: ['tsc', '-p', 'console/tsconfig.tests.json', '--noEmit'] },
  { name: 'lint and format', command: ['biome', 'check', '--error-on-warnings', '.'] },
  { name: 'dead code', command: ['knip', '--no-progress', '--cache', '--cache-location', '.cache/knip'] },
  {
    name: 'dependency directions',
    command: [
      'depcruise',
      '--config',
      '.dependency-cruiser.cjs',
      '--output-type',
      'err',
      'packages',
      'services',
      'cli',
      'console/src',
      'container',
      'test',
    ],
  },
  { name: 'wording', command: [process.execPath, bundleOf('svc'), 'dev', 'wording'] },
  { name: 'function length', command: [process.execPath, bundleOf('svc'), 'dev', 'functions'] },
  { name: 'generated documents', command: [process.execPath, bundleOf('svc'), 'dev', 'docs', '--check'] },
]

/** Runs all checks and prints each result with its findings. Returns whether all passed. */
export async function runChecks(): Promise<boolean> {
  const passed = await Promise.all(checks.map(({ name, command }) => runCheck(name, command)))
  return passed.every(Boolean)
}

async function runCheck(name: string, [program, ...args]: readonly string[]): Promise<boolean> {
  const started = performance.now()
  const child = spawn(path.resolve(repositoryRoot, 'node_modules/.bin', program!), args, {
    cwd: repositoryRoot,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const collect = (chunk: Buffer) => {
    output += chunk
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  const status = await new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      output += error.message
      resolve(null)
    })
    child.once('close', resolve)
  })
  const seconds = formatSeconds(performance.now() - started)
  const isPassed = status === 0
  process.stdout.write(`${isPassed ? 'passed' : emphasized('FAILED')}  ${name} (${seconds})\n`)
  if (!isPassed) process.stdout.write(`${output.trim()}\n\n`)
  return isPassed
}

/** Makes the tools use the Node.js of this process, because the one on PATH may be older. */
function environment(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}` }
}
