import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { parsePositiveInteger } from './positive-integer.ts'
import { printJson } from './print.ts'

interface StringsOptions {
  readonly kind?: string
  readonly sample?: string
  readonly seed: string
  readonly json?: boolean
}

/** Adds `./svc dev strings` and `./svc dev wording`. */
export function addWriting(dev: Command): void {
  dev
    .command('strings')
    .description('List all user-facing strings by kind, with their source locations')
    .option('--kind <kind>', 'Show only strings of this kind, for example error (default: all)')
    .option('--sample <n>', 'Number of strings to draw at random (default: all)')
    .option('--seed <n>', 'Seed of the random draw', '1')
    .option('--json', 'Print JSON')
    .action(async ({ kind, sample, seed, json }: StringsOptions) => {
      const { drawSample, formatStrings, readStrings, stringKinds } = await loadWriting()
      if (kind !== undefined && !stringKinds.some((each) => each === kind)) {
        throw invalidInput(
          `Invalid value [${kind}] for [--kind]: expected one of [${stringKinds.join(', ')}]`,
        )
      }
      const all = readStrings().filter((each) => kind === undefined || each.kind === kind)
      const count = sample === undefined ? all.length : parsePositiveInteger('--sample', sample, 999_999)
      const strings = drawSample(all, count, parsePositiveInteger('--seed', seed, 999_999_999))
      if (json) printJson(strings)
      else process.stdout.write(formatStrings(strings))
    })
  dev
    .command('wording')
    .argument('[path]', 'With --all: show only files whose path contains this text')
    .description('Check strings, docs, and comments for phrases to replace (docs/writing.md)')
    .option('--all', 'List every phrase, including those that are still allowed')
    .option('--update', 'Lower the allowed numbers to the current ones')
    .action(async (part: string | undefined, options: { all?: true; update?: true }) => {
      const { checkWording, findAllPhrases, linesOf, updateAllowances } = await loadWriting()
      if (part !== undefined && !options.all) throw invalidInput('Argument [path] requires [--all]')
      if (options.update) return updateAllowances()
      const lines = options.all
        ? [...findAllPhrases(part)].flatMap(([file, found]) => linesOf(file, found))
        : checkWording()
      for (const line of lines) process.stdout.write(`${line}\n`)
      if (!options.all && lines.length > 0) process.exitCode = 1
    })
}

async function loadWriting() {
  const { loadWriting: load } = await import('../development/index.ts')
  return load()
}
