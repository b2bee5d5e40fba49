import type { Command } from 'commander'
import type { ClusterClient } from '../client/index.ts'
import { accessOf, type ConnectionOptions, collect } from '../options/index.ts'
import { printProgress } from '../output/index.ts'
import type { CompareOptions } from '../plan/index.ts'
import type { PreviewRules } from '../preview/index.ts'
import { pictureColumns } from './rules-output.ts'

/** Which part of a declared state a command is about. */
export interface PartOptions extends ConnectionOptions {
  readonly target?: readonly string[]
  readonly create?: boolean
}

/** Adds the options of `PartOptions`. */
export function withParts(command: Command): Command {
  return command
    .option(
      '--target <part>',
      'Include only this part, for example rules.flights or coordinator (repeatable, default: all)',
      collect,
    )
    .option('--create', 'Accept datasources that do not exist yet')
}

/** What to compare, as the options of a command say. */
export const compareOptions = ({ target = [], create = false }: PartOptions): CompareOptions => ({
  parts: target,
  create,
})

/** A cluster, and how to preview rules in it. */
export interface PlannedCluster {
  readonly client: ClusterClient
  /** Returns previews of the cluster as it is now: those of a Druid cluster read its segments and rules only once. */
  readonly previewsNow: () => PreviewRules
}

/** Connects to the cluster of a command. */
export async function connectForPlan(options: ConnectionOptions): Promise<PlannedCluster> {
  const access = await accessOf(options)
  const [{ clientOf, withWaitNotices }, { bucketsIn, previewsOf }] = await Promise.all([
    import('../client/index.ts'),
    import('../preview/index.ts'),
  ])
  const client = withWaitNotices(clientOf(access), printProgress)
  const page = { buckets: bucketsIn(pictureColumns()) }
  return { client, previewsNow: () => previewsOf(client, access, page) }
}
