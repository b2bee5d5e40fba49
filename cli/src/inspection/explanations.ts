import type { AnsweredRule, ExplanationAnswer } from '@svc/domain/explanation'
import { invalidInput, notFound } from '@svc/domain/failure'
import { parseSegmentId } from '@svc/domain/segment'
import { formatInterval, parseInterval } from '@svc/domain/time'
import type { ClusterClient } from '../client/index.ts'
import { countOf, formatBytes, formatLongTable, shortInterval } from '../terminal/index.ts'

const base = '/svc/coordinator/v1'

/** The segments of an interval that are not loaded, as the coordinator answers them. */
export interface AnsweredInterval {
  readonly dataSource: string
  readonly interval: string
  readonly segments: number
  readonly summary: string
  readonly notLoaded: readonly {
    readonly segment: string
    readonly state: string
    readonly summary: string
  }[]
  readonly unused: readonly {
    readonly code: string
    readonly segments: number
    readonly example: { readonly segment: string; readonly text: string }
  }[]
}

/** Returns the explanation of a segment. Finds its datasource by its ID unless one is given. */
export async function readExplanation(
  client: ClusterClient,
  segment: string,
  given: string | undefined,
): Promise<ExplanationAnswer> {
  const dataSource = given ?? (await datasourceOf(client, segment))
  return (await client.send(
    'GET',
    `${base}/datasources/${encodeURIComponent(dataSource)}/segments/${encodeURIComponent(segment)}/explain`,
  )) as ExplanationAnswer
}

async function datasourceOf(client: ClusterClient, segment: string): Promise<string> {
  const names = (await client.send('GET', `${base}/metadata/datasources?includeUnused`)) as readonly string[]
  const matching = names.filter((name) => parseSegmentId(name, segment) !== undefined)
  if (matching.length > 1)
    throw invalidInput(`Segment [${segment}] could belong to [${matching.join('] or [')}]: add --datasource`)
  if (matching[0] === undefined)
    throw notFound(`No datasource that you can read has a segment with the ID [${segment}]`)
  return matching[0]
}

/** Returns the explanation of the segments that overlap an interval. */
export async function readIntervalExplanation(
  client: ClusterClient,
  dataSource: string,
  interval: string,
): Promise<AnsweredInterval> {
  return (await client.send('GET', `${intervalPath(dataSource, interval)}/explain`)) as AnsweredInterval
}

/** Why the intervals of a datasource are or are not compacted, as the coordinator answers it. */
export interface AnsweredCompaction {
  readonly dataSource: string
  readonly configured: boolean
  readonly speed: 'measured' | 'assumed'
  readonly intervals: readonly {
    readonly interval: string
    readonly code: string
    readonly reason: string
    readonly segments: number
    readonly bytes: number
    /** When it is expected to be compacted. */
    readonly doneAt?: string
  }[]
}

/** Returns why each interval that overlaps the given one is or is not compacted. */
export async function readCompactionExplanation(
  client: ClusterClient,
  dataSource: string,
  interval: string,
): Promise<AnsweredCompaction> {
  return (await client.send(
    'GET',
    `${intervalPath(dataSource, interval)}/explainCompaction`,
  )) as AnsweredCompaction
}

function intervalPath(dataSource: string, interval: string): string {
  const within = formatInterval(parseInterval(interval, 'interval')).replace('/', '_')
  return `${base}/datasources/${encodeURIComponent(dataSource)}/intervals/${encodeURIComponent(within)}`
}

const assumedSpeed =
  'Expected times assume 2 s for each task plus processing at 10 MB/s, because no compaction task succeeded in the last 12 hours.'

/** Formats the explanation of compaction for a terminal. */
export function formatCompactionExplanation({
  dataSource,
  configured,
  speed,
  intervals,
}: AnsweredCompaction): string {
  if (!configured) return `Compaction is not configured for datasource [${dataSource}].`
  if (intervals.length === 0) return 'The interval has no used segments.'
  const blocks = withEqualNeighborsTogether(intervals).map(
    ({ interval, code, reason, segments, bytes, doneAt }) =>
      `${shortInterval(interval)}  ${code}  ${countOf(segments, 'segment')}, ${formatBytes(bytes)}\n  ${reason}.${
        doneAt === undefined ? '' : ` Expected to be compacted by ${doneAt}.`
      }`,
  )
  const isAssumed = speed === 'assumed' && intervals.some(({ doneAt }) => doneAt !== undefined)
  return isAssumed ? [...blocks, assumedSpeed].join('\n') : blocks.join('\n')
}

/** Merges consecutive intervals with the same explanation, which are often hundreds of days. */
function withEqualNeighborsTogether(
  intervals: AnsweredCompaction['intervals'],
): AnsweredCompaction['intervals'] {
  const merged: AnsweredCompaction['intervals'][number][] = []
  for (const one of intervals) {
    const last = merged.at(-1)
    if (last === undefined || last.code !== one.code || last.reason !== one.reason) {
      merged.push(one)
      continue
    }
    const [start] = last.interval.split('/')
    const [, end] = one.interval.split('/')
    merged[merged.length - 1] = {
      ...last,
      interval: `${start}/${end}`,
      segments: last.segments + one.segments,
      bytes: last.bytes + one.bytes,
      ...latestDone(last, one),
    }
  }
  return merged
}

type AnsweredFinding = AnsweredCompaction['intervals'][number]

const latestDone = (a: AnsweredFinding, b: AnsweredFinding): Pick<AnsweredFinding, 'doneAt'> =>
  a.doneAt === undefined || b.doneAt === undefined ? {} : { doneAt: [a.doneAt, b.doneAt].sort()[1]! }

/** Returns the sentences of an explanation at a path of the coordinator. */
export async function readSentences(
  client: ClusterClient,
  path: string,
): Promise<{ readonly sentences: readonly string[] }> {
  return (await client.send('GET', `${base}${path}`)) as { readonly sentences: readonly string[] }
}

/** Formats the explanation of a segment for a terminal. */
export function formatExplanation(explained: ExplanationAnswer): string {
  const { segment, summary, rule, tiers = [], servers = [], next = [] } = explained
  const parts = [`${segment}\n${summary}.`]
  if (rule !== undefined) parts.push(`Rules:\n${ruleLines(explained).join('\n')}`)
  if (tiers.length > 0) {
    const areLeaving = tiers.some(({ leaving }) => leaving > 0)
    const table = formatLongTable({
      header: [
        ...['tier', 'required', 'served'],
        ...(areLeaving ? ['decommissioning'] : []),
        ...['loading', 'dropping', 'servers'],
      ],
      rows: tiers.map((tier) => [
        tier.tier,
        String(tier.required),
        String(tier.served),
        ...(areLeaving ? [String(tier.leaving)] : []),
        String(tier.loading),
        String(tier.dropping),
        String(tier.servers),
      ]),
    })
    parts.push(withOmitted(table, explained.omittedTiers, 'more tier'))
  }
  if (servers.length > 0) {
    const table = formatLongTable({
      header: ['server', 'tier', 'state'],
      rows: servers.map(({ server, tier, text }) => [server, tier, text]),
    })
    parts.push(withOmitted(table, explained.omittedServers, 'more server'))
  }
  if (next.length > 0)
    parts.push(
      `Next:\n${next.map(({ at, text }) => `- ${at === undefined ? '' : `${at}: `}${text}`).join('\n')}`,
    )
  return parts.join('\n\n')
}

const withOmitted = (table: string, omitted = 0, what: string): string =>
  omitted > 0 ? `${table}\nand ${countOf(omitted, what)}` : table

function ruleLines({ rule, earlierRules = [], omittedRules = 0 }: ExplanationAnswer): string[] {
  return [
    ...(omittedRules > 0
      ? [`- ${countOf(omittedRules, 'other earlier rule')} ${omittedRules === 1 ? 'does' : 'do'} not apply`]
      : []),
    ...earlierRules.map((earlier) => `- ${ruleText(earlier)} does not apply. ${earlier.text}.`),
    ...(rule === undefined ? [] : [`- ${ruleText(rule)} applies`]),
  ]
}

function ruleText({ place, source, rule }: AnsweredRule): string {
  if (source === 'lastRule') return `The built-in last rule (${rule.type})`
  return `${source === 'defaults' ? 'Default rule' : 'Rule'} [${place}] ${JSON.stringify(rule)}`
}

/** Formats the explanation of an interval for a terminal. */
export function formatIntervalExplanation({
  dataSource,
  interval,
  summary,
  notLoaded,
  unused,
}: AnsweredInterval): string {
  const lines = notLoaded.map((one) => `${one.segment}\n  ${one.summary}.`)
  const unusedLines = unused.map(
    ({ code, segments, example }) =>
      `${countOf(segments, 'unused segment')} with cause [${code}], for example ${example.segment}\n  ${example.text}.`,
  )
  return [`${dataSource} ${interval}\n${summary}.`, ...lines, ...unusedLines].join('\n\n')
}
