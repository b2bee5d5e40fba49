import type { Command } from 'commander'
import { type ConnectionOptions, collect, connect, withConnection } from '../options/index.ts'
import { printAnswer, printJson } from '../output/index.ts'

interface SegmentsOptions extends ConnectionOptions {
  readonly datasource?: string
  readonly interval?: string
  readonly unused?: boolean
  readonly json?: boolean
}

interface MarkOptions extends ConnectionOptions {
  readonly datasource: string
  readonly all?: boolean
  readonly interval?: string
  readonly versions?: readonly string[]
  readonly segment?: readonly string[]
  readonly json?: boolean
}

/** Adds `./svc segments`. */
export function addSegments(program: Command): void {
  withConnection(
    program.command('segments').description('Show used or unused segments, newest intervals first'),
  )
    .option('--datasource <name>', 'Show only this datasource')
    .option('--interval <interval>', 'Show only segments that overlap this ISO 8601 interval')
    .option('--unused', 'Show unused segments (requires --datasource)')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
The # column shows the partition number. The replicas column shows how many servers have loaded a segment, and
whether the segment is overshadowed or unused.

Examples:
  ./svc segments --datasource flights --interval 2001-03-01/P1W
  ./svc segments --datasource flights --unused --json`,
    )
    .action(async ({ datasource, interval, unused, json, ...connection }: SegmentsOptions) => {
      const client = await connect(connection)
      const [{ readSegments, segmentsTable }, { checkDatasourceIsKnown }] = await Promise.all([
        import('../inspection/index.ts'),
        import('../rules/index.ts'),
      ])
      if (datasource !== undefined) await checkDatasourceIsKnown(client, datasource)
      const segments = await readSegments(client, { dataSource: datasource, interval, isUnused: unused })
      await printAnswer(json, segments, segmentsTable(segments), 'No segments found.')
    })
}

/** Adds `./svc mark-used` and `./svc mark-unused`. */
export function addMark(program: Command): void {
  addMarkCommand(program, 'mark-used', 'Mark segments as used, unless they are overshadowed', true)
  addMarkCommand(program, 'mark-unused', 'Mark segments as unused, so that servers drop them', false)
}

function addMarkCommand(program: Command, name: string, description: string, isUsed: boolean): void {
  const used = isUsed ? 'used' : 'unused'
  withConnection(program.command(name).description(description))
    .requiredOption('--datasource <name>', 'Name of the datasource')
    .option('--interval <interval>', 'Mark the segments within this ISO 8601 interval')
    .option(
      '--versions <version>',
      'Mark only segments of this version (repeatable, requires --interval)',
      collect,
    )
    .option('--segment <id>', 'Mark the segment with this ID (repeatable)', collect)
    .option('--all', 'Mark all segments of the datasource')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Unused segments stay in deep storage until a kill task deletes them. After you mark segments as used, rules can mark
them as unused again.

Examples:
  ./svc ${name} --datasource flights --interval 2001-01-01/2001-02-01
  ./svc ${name} --datasource flights --all`,
    )
    .action(async ({ datasource, json, ...options }: MarkOptions) => {
      const [{ checkSelection, markSegments }, { checkDatasourceIsKnown }, { countOf }] = await Promise.all([
        import('../inspection/index.ts'),
        import('../rules/index.ts'),
        import('../terminal/index.ts'),
      ])
      checkSelection(options)
      const client = await connect(options)
      await checkDatasourceIsKnown(client, datasource)
      const count = await markSegments(client, datasource, options, isUsed)
      if (json) printJson({ dataSource: datasource, used: isUsed, changedSegments: count })
      else process.stdout.write(`Marked ${countOf(count, 'segment')} of [${datasource}] as ${used}.\n`)
    })
}
