import { Failure } from '@svc/domain/failure'
import { defaultRulesName } from '@svc/domain/rules'
import { losesSegments, lossOf } from '@svc/domain/saved-plan'
import { readRulesName } from '@svc/domain/validation'
import { type Change, grownLosses, type Loss } from '../declared-state/index.ts'
import { type AnsweredPreview, isKnown, type PreviewRules } from '../preview/index.ts'
import type { RulesEffect, RulesEffects } from './safe-order.ts'

/**
 * The changes to rules, as the body of a preview; undefined if no rules change. Rules under names that svc refuses are left out:
 * only Druid has them, and no data can be ingested under these names.
 */
export function previewBodyOf(changes: readonly Change[]): Readonly<Record<string, unknown>> | undefined {
  const lists = changes.filter(({ kind, path }) => kind === 'rules' && isRulesName(path.at(-1)!))
  if (lists.length === 0) return undefined
  const rules = lists.map(({ path, after = [] }) => [path.at(-1)!, after] as const)
  const defaults = rules.find(([name]) => name === defaultRulesName)
  return {
    rules: Object.fromEntries(rules.filter(([name]) => name !== defaultRulesName)),
    ...(defaults === undefined ? {} : { defaultRules: defaults[1] }),
  }
}

function isRulesName(name: string): boolean {
  try {
    readRulesName(name, '')
    return true
  } catch (error) {
    if (error instanceof Failure) return false
    throw error
  }
}

/** Returns what each datasource loses, without those that lose nothing. */
export function lossesOf({ summary }: AnsweredPreview): Record<string, Loss> {
  const losses = Object.entries(summary.datasources).map(
    ([name, { effects }]) => [name, lossOf(effects)] as const,
  )
  return Object.fromEntries(losses.filter(([, loss]) => losesSegments(loss)))
}

/** Returns in which order rules can be changed so that no datasource loses more on the way than finally. */
export async function effectsOf(
  changes: readonly Change[],
  answer: AnsweredPreview,
  preview: PreviewRules,
): Promise<RulesEffects> {
  const losses = lossesOf(answer)
  const effects = new Map<string, RulesEffect>()
  const changed = new Set(changes.filter(({ kind }) => kind === 'rules').map(({ path }) => path.at(-1)!))
  const order: readonly RulesEffect[] = ['additions', 'moves', 'losses']
  let ofDefaults: RulesEffect = 'additions'
  for (const [name, { effects: found }] of Object.entries(answer.summary.datasources)) {
    const effect: RulesEffect = Object.hasOwn(losses, name)
      ? 'losses'
      : found.dropped.segments + found.moved.segments > 0
        ? 'moves'
        : 'additions'
    effects.set(name, effect)
    if (!changed.has(name) && order.indexOf(effect) > order.indexOf(ofDefaults)) ofDefaults = effect
  }
  effects.set(defaultRulesName, ofDefaults)
  return { effects, afterDefaults: await followingDefaults(changes, losses, preview) }
}

/** The datasources that would lose more if their rules changed before the cluster defaults. */
async function followingDefaults(
  changes: readonly Change[],
  losses: Readonly<Record<string, Loss>>,
  preview: PreviewRules,
): Promise<ReadonlySet<string>> {
  const others = changes.filter(({ kind, path }) => kind === 'rules' && path.at(-1) !== defaultRulesName)
  const body = previewBodyOf(others)
  const hasDefaults = changes.some(({ kind, path }) => kind === 'rules' && path.at(-1) === defaultRulesName)
  if (!hasDefaults || body === undefined) return new Set()
  const answer = await preview(body)
  if (!isKnown(answer)) return new Set(others.map(({ path }) => path.at(-1)!))
  const early = lossesOf(answer)
  const grown = Object.keys(early).filter((name) => grownLosses(losses, { [name]: early[name]! }).length > 0)
  return new Set(grown)
}
