import type {
  AnsweredEffect,
  AnsweredEffects,
  AnsweredLaterLoss,
  AnsweredSummary,
  EffectName,
} from '@svc/domain/preview'
import { tiersText } from '@svc/domain/preview'
import { countOf, formatBytes, formatCount, shortInterval, type Table } from '../terminal/index.ts'

/** The names of effects in text, with the losses first. */
export const effectLabels: Readonly<Record<EffectName, string>> = {
  unqueryable: 'unqueryable',
  unused: 'marked as unused',
  overshadowed: 'overshadowed',
  underReplicated: 'under-replicated',
  doesNotFit: 'does not fit',
  waitingForTier: 'waiting for servers',
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
type LossSummary = Pick<AnsweredSummary, 'effects' | 'laterLosses' | 'steps'> & {
  readonly datasources?: Readonly<Record<string, { readonly effects: AnsweredEffects }>>
}

/**
 * What a change loses, in sentences: first at the time of the preview, then within its horizon. `isPartial` if it may also affect
 * datasources that the user may not read.
 */
export function lossSentences(summary: LossSummary, isPartial = false): string[] {
  return [...lossesNow(summary, isPartial), ...lossesLater(summary)]
}

/** Whether a change loses anything, now or within the horizon. */
export function hasLosses({ effects, laterLosses = {} }: LossSummary): boolean {
  const { unqueryable, unused, waitingForTier, doesNotFit } = effects
  const now = [unqueryable, unused, waitingForTier, doesNotFit]
  return now.some(({ segments }) => segments > 0) || Object.keys(laterLosses).length > 0
}

function lossesNow(summary: LossSummary, isPartial: boolean): string[] {
  const { effects, laterLosses = {} } = summary
  const readable = isPartial ? ' of the datasources that this user may read' : ''
  if (Object.values(effects).every(({ segments }) => segments === 0)) {
    const isLater = Object.keys(laterLosses).length > 0
    return [`No segments${readable} are affected${isLater ? ' now' : ''}.`]
  }
  const { unqueryable, unused, doesNotFit, waitingForTier, underReplicated } = effects
  const sentences = [
    unqueryable.segments > 0
      ? unqueryableSentence(unqueryable)
      : laterLosses.unqueryable
        ? `All data${readable} stays queryable until ${dayOf(laterLosses.unqueryable.from)}.`
        : `All data${readable} stays queryable.`,
  ]
  if (unused.segments > 0) sentences.push(`${amountOf(unused)} will be marked as unused.`)
  sentences.push(...waitingSentences(summary))
  if (doesNotFit.segments > 0) {
    const lastDay = dayOf(doesNotFit.interval!.split('/')[1]!)
    sentences.push(
      `${amountOf(doesNotFit)} with data before ${lastDay} ${doesNotFit.copies === 1 ? 'does' : 'do'} not fit.`,
    )
  }
  // The other sentences name the reason.
  if (underReplicated.segments > 0 && doesNotFit.segments + waitingForTier.segments === 0)
    sentences.push(
      `${replicasOf(underReplicated)} will be missing because a tier has fewer servers than required replicas.`,
    )
  return sentences
}

/** The losses that grow within the horizon. Those of a loss that exists now may be other segments later. */
function lossesLater({ effects, laterLosses: later = {}, steps = [] }: LossSummary): string[] {
  const { unused, waitingForTier, doesNotFit, underReplicated } = later
  const sentences = unqueryableLater(later.unqueryable, effects, steps)
  if (unused)
    sentences.push(`${newlyLost(unused, effects.unused, steps)} will be marked as unused, ${first(unused)}.`)
  if (waitingForTier) {
    sentences.push(
      effects.waitingForTier.segments === 0
        ? `${since(waitingForTier)}, up to ${waitingText(waitingForTier)}.`
        : `${since(waitingForTier)}, additional replicas will wait for servers in ${tiersText(waitingForTier.tiers ?? [])}: up to ${replicasOf(waitingForTier)} in total.`,
    )
  }
  if (doesNotFit) {
    const tiers = tiersText(doesNotFit.tiers ?? [])
    sentences.push(
      effects.doesNotFit.segments === 0
        ? `${since(doesNotFit)}, ${tiers} ${doesNotFit.tiers?.length === 1 ? 'is' : 'are'} full: up to ${largestOf(doesNotFit)} ${doesNotFit.copies === 1 ? 'does' : 'do'} not fit.`
        : `${since(doesNotFit)}, additional replicas do not fit in ${tiers}: up to ${largestOf(doesNotFit)} in total.`,
    )
  }
  // The other sentences name the reason.
  if (underReplicated && !doesNotFit && !waitingForTier) {
    const { segments, copies = segments, bytes } = underReplicated
    const missing = `${countOf(segments, 'segment')} (${formatBytes(bytes)})`
    sentences.push(
      effects.underReplicated.segments === 0
        ? `${since(underReplicated)}, up to ${countOf(copies, 'replica')} of ${missing} will be missing.`
        : `${since(underReplicated)}, additional replicas will be missing: up to ${formatCount(copies)} of ${missing} in total.`,
    )
  }
  return sentences
}

function unqueryableLater(
  later: AnsweredLaterLoss | undefined,
  { unqueryable, unused }: AnsweredEffects,
  steps: LossSummary['steps'],
): string[] {
  if (later === undefined) return []
  // Unused segments stay unqueryable. Others may become queryable while more are lost.
  return unqueryable.segments <= unused.segments
    ? [`${newlyLost(later, unqueryable, steps)} will become unqueryable, ${first(later)}.`]
    : [
        `${since(later)}, up to ${largestOf(addedTo(unqueryable, later))} that are not affected now will be unqueryable.`,
      ]
}

type Amount = Pick<AnsweredEffect, 'segments' | 'bytes'>

/** The segments that a loss includes later, but not now. Earlier versions of a cluster return only the total. */
const addedTo = (now: Amount, { segments, bytes, added }: AnsweredLaterLoss): Amount =>
  added ?? { segments: segments - now.segments, bytes: bytes - now.bytes }

function newlyLost(later: AnsweredLaterLoss, now: AnsweredEffect, steps: LossSummary['steps'] = []): string {
  const end = steps.length === 0 ? '' : dayOf(steps.at(-1)!.now)
  return `By ${end}, ${largestOf(addedTo(now, later))}`
}

const first = ({ from }: AnsweredLaterLoss): string => `the first on ${dayOf(from)}`
const since = ({ from }: AnsweredLaterLoss): string => `From ${dayOf(from)}`

type Waiting = Pick<AnsweredEffect, 'segments' | 'copies'> & { readonly tiers?: readonly string[] }

// Maximum number of datasources that have their own sentence.
const maxSentences = 10

/** Which replicas wait for servers: by datasource, and together for the datasources after the first ones. */
function waitingSentences({ effects, datasources = {} }: LossSummary): string[] {
  if (effects.waitingForTier.segments === 0) return []
  const entries = Object.entries(datasources)
  if (entries.length <= 1) return [`${waitingText(effects.waitingForTier)}.`]
  const waiting = entries
    .map(([name, datasource]) => [name, datasource.effects.waitingForTier] as const)
    .filter(([, { segments }]) => segments > 0)
  const sentences = waiting
    .slice(0, maxSentences)
    .map(([name, amount]) => `Datasource [${name}]: ${waitingText(amount)}.`)
  const others = waiting.slice(maxSentences).map(([, amount]) => amount)
  if (others.length > 0) {
    const segments = others.reduce((sum, amount) => sum + amount.segments, 0)
    const copies = others.reduce((sum, amount) => sum + (amount.copies ?? amount.segments), 0)
    const subject = countOf(others.length, 'other datasource')
    sentences.push(`${subject}: ${replicasOf({ segments, copies })} will wait for servers.`)
  }
  return sentences
}

const waitingText = (waiting: Waiting): string =>
  `${replicasOf(waiting)} will wait for servers in ${tiersText(waiting.tiers ?? [])}`

const replicasOf = ({ segments, copies = segments }: Waiting): string =>
  `${countOf(copies, 'replica')} of ${countOf(segments, 'segment')}`

const largestOf = (loss: Pick<AnsweredLaterLoss, 'segments' | 'copies' | 'bytes'>): string =>
  `${countOfLost(loss)} (${formatBytes(loss.bytes)})`

/** What the bytes of an effect are of: segments, or several replicas of some of them. */
const countOfLost = ({ segments, copies = segments }: Pick<AnsweredEffect, 'segments' | 'copies'>): string =>
  `${copies > segments ? `${countOf(copies, 'replica')} of ` : ''}${countOf(segments, 'segment')}`

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

function amountOf(effect: AnsweredEffect): string {
  const { bytes, days } = effect
  return `${countOfLost(effect)} (${formatBytes(bytes)}${days === null ? '' : `, ${countOf(days, 'day')}`})`
}

/** Returns the day of an instant. */
export const dayOf = (instant: string): string => instant.split('T')[0]!
