import type { AnsweredEffect, AnsweredEffects, EffectName } from '@svc/domain/preview'
import { countOf, formatBytes, formatCount, shortInterval, type Table } from '../terminal/index.ts'

/** The names of effects in text, with the losses first. */
export const effectLabels: Readonly<Record<EffectName, string>> = {
  unqueryable: 'unqueryable',
  unused: 'marked unused',
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

/** What a change loses, in sentences. */
export function lossSentences(effects: AnsweredEffects): string[] {
  if (Object.values(effects).every(({ segments }) => segments === 0)) return ['No segments are affected.']
  const { unqueryable, unused, waitingForTier, doesNotFit } = effects
  const sentences = [
    unqueryable.segments === 0 ? 'All data stays queryable.' : unqueryableSentence(unqueryable),
  ]
  if (unused.segments > 0) sentences.push(`${amountOf(unused)} will be marked unused.`)
  if (waitingForTier.segments > 0) {
    sentences.push(
      `${countOf(waitingForTier.segments, 'segment')} cannot be loaded because these tiers have no servers: [${waitingForTier.tiers.join(', ')}].`,
    )
  }
  if (doesNotFit.segments > 0) {
    const lastDay = dayOf(doesNotFit.interval!.split('/')[1]!)
    sentences.push(
      `${amountOf(doesNotFit)} with data before ${lastDay} ${doesNotFit.segments === 1 ? 'does' : 'do'} not fit.`,
    )
  }
  return sentences
}

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

const dayOf = (instant: string): string => instant.split('T')[0]!
