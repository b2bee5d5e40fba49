import type {
  AnsweredEffect,
  AnsweredEffects,
  AnsweredLaterLoss,
  AnsweredSummary,
  EffectName,
} from '@svc/domain/preview'
import { countOf, formatBytes, formatCount, shortInterval, type Table } from '../terminal/index.ts'

/** The names of effects in text, with the losses first. */
export const effectLabels: Readonly<Record<EffectName, string>> = {
  unqueryable: 'unqueryable',
  unused: 'marked as unused',
  overshadowed: 'overshadowed',
  underReplicated: 'under-replicated',
  doesNotFit: 'does not fit',
  waitingForTier: 'waiting for tier',
  moved: 'moved',
  loaded: 'loaded',
  dropped: 'dropped',
}

/** Effects that are listed even if there are none. */
const alwaysListed: ReadonlySet<string> = new Set<EffectName>([
  'unqueryable',
  'unused',
  'underReplicated',
  'doesNotFit',
])

/** The losses of a preview. */
type LossSummary = Pick<AnsweredSummary, 'effects' | 'laterLosses' | 'steps'>

/** What a change loses, in sentences: first at the time of the preview, then within its horizon. */
export function lossSentences(summary: LossSummary): string[] {
  return [...lossesNow(summary), ...lossesLater(summary)]
}

/** Whether a change loses anything, now or within the horizon. */
export function hasLosses({ effects, laterLosses = {} }: LossSummary): boolean {
  const { unqueryable, unused, waitingForTier, doesNotFit } = effects
  const now = [unqueryable, unused, waitingForTier, doesNotFit]
  return now.some(({ segments }) => segments > 0) || Object.keys(laterLosses).length > 0
}

function lossesNow({ effects, laterLosses = {} }: LossSummary): string[] {
  if (Object.values(effects).every(({ segments }) => segments === 0))
    return [
      Object.keys(laterLosses).length === 0 ? 'No segments are affected.' : 'No segments are affected now.',
    ]
  const { unqueryable, unused, waitingForTier, doesNotFit } = effects
  const sentences = [
    unqueryable.segments > 0
      ? unqueryableSentence(unqueryable)
      : laterLosses.unqueryable
        ? `All data stays queryable until ${dayOf(laterLosses.unqueryable.from)}.`
        : 'All data stays queryable.',
  ]
  if (unused.segments > 0) sentences.push(`${amountOf(unused)} will be marked as unused.`)
  if (waitingForTier.segments > 0) sentences.push(waitingSentence(waitingForTier))
  if (doesNotFit.segments > 0) {
    const lastDay = dayOf(doesNotFit.interval!.split('/')[1]!)
    sentences.push(
      `${amountOf(doesNotFit)} with data before ${lastDay} ${doesNotFit.segments === 1 ? 'does' : 'do'} not fit.`,
    )
  }
  return sentences
}

/** The losses that grow within the horizon. Segments that are lost once are not counted again. */
function lossesLater({ effects, laterLosses: later = {}, steps = [] }: LossSummary): string[] {
  const { unqueryable, unused, waitingForTier, doesNotFit, underReplicated } = later
  const end = steps.length === 0 ? '' : dayOf(steps.at(-1)!.now)
  const more = (loss: AnsweredLaterLoss, { segments, bytes }: AnsweredEffect): string =>
    `By ${end}, ${largestOf({ segments: loss.segments - segments, bytes: loss.bytes - bytes })}`
  const first = (loss: AnsweredLaterLoss): string => `the first on ${dayOf(loss.from)}`
  const since = (loss: AnsweredLaterLoss): string => `From ${dayOf(loss.from)}`
  const tiers = (loss: AnsweredLaterLoss): string =>
    `${loss.tiers?.length === 1 ? 'tier' : 'tiers'} [${loss.tiers?.join(', ') ?? ''}]`
  return [
    ...(unqueryable
      ? [`${more(unqueryable, effects.unqueryable)} will become unqueryable, ${first(unqueryable)}.`]
      : []),
    ...(unused ? [`${more(unused, effects.unused)} will be marked as unused, ${first(unused)}.`] : []),
    ...(waitingForTier ? [`${since(waitingForTier)}, ${waitingSentence(waitingForTier)}`] : []),
    ...(doesNotFit
      ? [
          `${since(doesNotFit)}, ${tiers(doesNotFit)} ${doesNotFit.tiers?.length === 1 ? 'is' : 'are'} full: up to ${largestOf(doesNotFit)} ${doesNotFit.segments === 1 ? 'does' : 'do'} not fit.`,
        ]
      : []),
    // These sentences name the reason.
    ...(underReplicated && !doesNotFit && !waitingForTier
      ? [
          `${since(underReplicated)}, up to ${largestOf(underReplicated)} will have fewer replicas than their rules require.`,
        ]
      : []),
  ]
}

const waitingSentence = ({ segments, tiers = [] }: { segments: number; tiers?: readonly string[] }): string =>
  `${countOf(segments, 'segment')} cannot be loaded because these tiers have no servers: [${tiers.join(', ')}].`

const largestOf = ({ segments, bytes }: { segments: number; bytes: number }): string =>
  `${countOf(segments, 'segment')} (${formatBytes(bytes)})`

function unqueryableSentence(unqueryable: AnsweredEffects['unqueryable']): string {
  const { segments, queryableBefore } = unqueryable
  const already = segments === 1 ? 'it already was' : 'they already were'
  const now =
    queryableBefore === segments ? 'queryable now' : `${formatCount(queryableBefore)} of them queryable now`
  return `${amountOf(unqueryable)} will be unqueryable (${queryableBefore === 0 ? already : now}).`
}

/** One row per effect: in total if there are several datasources, then by datasource. */
export function effectsTable(
  total: AnsweredEffects,
  datasources: Readonly<Record<string, { readonly effects: AnsweredEffects }>>,
): Table {
  const names = Object.keys(datasources)
  const rows = names.length > 1 ? rowsOf('(all)', total, alwaysListed) : []
  for (const [name, { effects }] of Object.entries(datasources))
    rows.push(...rowsOf(name, effects, names.length > 1 ? new Set() : alwaysListed))
  return { header: ['datasource', 'effect', 'segments', 'replicas', 'bytes', 'days', 'data'], rows }
}

function rowsOf(dataSource: string, effects: AnsweredEffects, listed: ReadonlySet<string>): string[][] {
  return (Object.keys(effectLabels) as EffectName[])
    .filter((name) => effects[name].segments > 0 || listed.has(name))
    .map((name) => {
      const { segments, copies, bytes, days, interval } = effects[name]
      return segments === 0
        ? [dataSource, effectLabels[name], '0', '', '', '', '']
        : [
            dataSource,
            effectLabels[name],
            formatCount(segments),
            copies === undefined ? '' : formatCount(copies),
            formatBytes(bytes),
            days === null ? 'unlimited' : formatCount(days),
            shortInterval(interval!),
          ]
    })
}

function amountOf({ segments, bytes, days }: AnsweredEffect): string {
  return `${countOf(segments, 'segment')} (${formatBytes(bytes)}${days === null ? '' : `, ${countOf(days, 'day')}`})`
}

/** Returns the day of an instant. */
export const dayOf = (instant: string): string => instant.split('T')[0]!
