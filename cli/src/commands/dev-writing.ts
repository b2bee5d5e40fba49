import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { exitStatus } from '../exit/index.ts'
import { parsePositiveInteger } from '../options/index.ts'
import { printJson } from '../output/index.ts'

interface StringsOptions {
  readonly kind?: string
  readonly sample?: string
  readonly seed: string
  readonly json?: boolean
}

/** Adds `./svc dev strings`, `./svc dev wording`, and `./svc dev functions`. */
export function addWriting(dev: Command): void {
  dev
    .command('strings')
    .description('List all user-facing strings by kind, with their source locations')
    .option('--kind <kind>', 'Show only strings of this kind, for example error (default: all)')
    .option('--sample <n>', 'Number of strings to draw at random (default: all)')
    .option('--seed <n>', 'Seed for the random draw', '1')
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
      const strings = drawSample(all, count, parsePositiveInteger('--seed', seed, 4_294_967_295))
      if (json) printJson(strings)
      else process.stdout.write(formatStrings(strings))
    })
  dev
    .command('wording')
    .argument('[path]', 'Check only files whose path contains this text (default: all)')
    .description('Check strings, docs, and comments for phrases to replace (docs/writing.md)')
    .action(async (part: string | undefined) => {
      const lines = (await loadWriting()).checkWording(part)
      printFindings(lines)
    })
  dev
    .command('functions')
    .description('List functions that have too many lines')
    .action(async () => {
      const { loadLongFunctions } = await import('../development/index.ts')
      printFindings((await loadLongFunctions()).checkFunctions())
    })
}

/** Prints what a check has found; any finding makes the command fail. */
function printFindings(lines: readonly string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`)
  if (lines.length > 0) process.exitCode = exitStatus.failed
}

async function loadWriting() {
  const { loadWriting: load } = await import('../development/index.ts')
  return load()
}
