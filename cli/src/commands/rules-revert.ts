import type { Command } from 'commander'
import { exitStatus } from '../exit/index.ts'
import {
  type ConnectionOptions,
  connect,
  type OverridePolicyOption,
  overridePolicyOption,
  parseInteger,
  withSvcConnection,
} from '../options/index.ts'
import { printJson, printMessage, printProgress } from '../output/index.ts'
import type { PreviewAnswer } from '../preview/index.ts'
import type { RulesChange } from '../rules/index.ts'
import { allRulesPath, bandsOf, pictureColumns, printPreview } from './rules-output.ts'

interface RevertOptions extends ConnectionOptions, OverridePolicyOption {
  readonly datasource: string
  readonly to?: string
  readonly preview?: boolean
  readonly author?: string
  readonly comment?: string
  readonly json?: boolean
}

const maxId = 999_999_999_999

/** Adds `./svc rules revert`. */
export function addRevert(rules: Command): void {
  withSvcConnection(
    rules
      .command('revert')
      .description('Restore earlier rules, and the segments that later changes marked as unused'),
  )
    .requiredOption('--datasource <name>', 'Datasource (_default: the cluster defaults)')
    .option('--to <id>', 'Restore the rules of this change (default: undo only the newest; 0: undo all)')
    .option('--preview', 'Preview the revert, without changing anything')
    .addOption(overridePolicyOption())
    .option('--author <name>', 'Author for the audit history')
    .option('--comment <text>', 'Comment for the audit history')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
To list the IDs of changes, run ./svc rules history. A segment is marked as used again if a drop rule marked it as
unused and the earlier rules keep it. Segments that kill tasks have deleted cannot be restored. In an imported cluster, the
first change is the import, which cannot be undone.

Examples:
  ./svc rules revert --datasource flights --preview
  ./svc rules revert --datasource flights
  ./svc rules revert --datasource flights --to 12 --comment "one month was too short"`,
    )
    .action(async ({ datasource, to, preview, author, comment, json, ...options }: RevertOptions) => {
      const [room, { bucketsIn, isKnown, unknownReason }] = await Promise.all([
        import('../rules/index.ts'),
        import('../preview/index.ts'),
      ])
      const target = to === undefined ? undefined : parseInteger('--to', to, { min: 0, max: maxId })
      const { overridePolicy: overridesPolicy, ...connection } = options
      const client = await connect(connection)
      room.checkCanRevert(client)
      const history = `${room.rulesPath(datasource)}/history?full&count=${room.maxRevertedChanges}`
      const changes = (await client.send('GET', history)) as RulesChange[]
      const reversion = room.reversionOf(datasource, changes, target)
      const { first, rules } = reversion
      const path = `${allRulesPath}/simulate?buckets=${bucketsIn(pictureColumns())}`
      const request = room.reversionRequest(datasource, reversion)
      const answer = (await client.send('POST', path, request)) as PreviewAnswer
      if (!isKnown(answer)) {
        process.exitCode = exitStatus.notKnown
        if (json) printJson(answer)
        printMessage(unknownReason(answer))
        return
      }
      if (preview) {
        const bands = await bandsOf(client, answer, { datasource, list: rules })
        await printPreview(answer, { json: json ?? false }, bands)
        return
      }
      const headers = room.auditHeaders({ author, comment: room.reversionComment(reversion, comment) })
      // An interrupted revert has already restored the rules.
      if (changes[0]?.payload !== JSON.stringify(rules))
        await room.setRules(client, datasource, rules, { headers, overridesPolicy })
      const marked = await room.markKeptUsed(client, datasource, first.id, headers).catch((error) => {
        const advice = `The rules were restored, but not all segments were marked as used. To continue, run the command again with --to ${changes[changes.indexOf(first) + 1]?.id ?? 0}.`
        printProgress(`svc: ${advice}`)
        throw error
      })
      const killed = answer.summary.restorable?.killed.segments ?? 0
      if (json) {
        printJson({ revertedSince: first.id, rules, markedUsed: marked, killedSegments: killed })
        return
      }
      process.stdout.write(`${room.revertedText(datasource, reversion, { marked, killed })}\n`)
    })
}
