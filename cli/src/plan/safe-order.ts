import { defaultRulesName } from '@svc/domain/rules'
import type { Change } from '../declared-state/index.ts'

/** The phases in which changes are applied. Before each phase of rules, the cluster loads what the earlier ones require. */
export const phases = ['access', 'configuration', 'additions', 'moves', 'losses', 'removals'] as const
export type Phase = (typeof phases)[number]

/** What a list of rules does to the data, at worst. */
export type RulesEffect = Extract<Phase, 'additions' | 'moves' | 'losses'>

/** Changes that are applied together, in their order. */
export interface Step {
  readonly phase: Phase
  readonly changes: readonly Change[]
}

/** What is known about the effects of the rules that change. */
export interface RulesEffects {
  /** By datasource, and `_default`. A list that is missing here may lose data. */
  readonly effects: ReadonlyMap<string, RulesEffect>
  /** Datasources whose new rules would lose more data with the old cluster defaults than with the new ones. */
  readonly afterDefaults: ReadonlySet<string>
}

/**
 * Returns the changes in a safe order: roles before users, rules that only add replicas before those that move or lose data,
 * and removed roles and users last. The cluster defaults follow all other rules, except those that depend on them, which
 * follow them immediately.
 */
export function stepsOf(changes: readonly Change[], { effects, afterDefaults }: RulesEffects): Step[] {
  const effectOf = ({ path }: Change): RulesEffect => effects.get(path.at(-1)!) ?? 'losses'
  const rules = changes.filter(({ kind }) => kind === 'rules')
  const followsDefaults = ({ path }: Change): boolean => afterDefaults.has(path.at(-1)!)
  const last = rules.reduce((max, change) => Math.max(max, phases.indexOf(effectOf(change))), 0)
  const phaseOf = (change: Change): Phase => {
    if (change.kind === 'rules')
      return isDefaults(change) || followsDefaults(change) ? phases[last]! : effectOf(change)
    if (!accessKinds.includes(change.kind)) return 'configuration'
    return change.action === 'remove' ? 'removals' : 'access'
  }
  const placeOf = (change: Change): number => {
    if (change.kind === 'rules') return isDefaults(change) ? 1 : followsDefaults(change) ? 2 : 0
    const place = accessKinds.indexOf(change.kind)
    return change.action === 'remove' ? -place : place
  }
  return phases
    .map((phase) => ({
      phase,
      changes: changes
        .filter((change) => phaseOf(change) === phase)
        .toSorted((a, b) => placeOf(a) - placeOf(b)),
    }))
    .filter((step) => step.changes.length > 0)
}

// A role exists before it is assigned, and is removed after nothing refers to it.
const accessKinds: readonly Change['kind'][] = ['roles', 'logins', 'users', 'groupMappings']

const isDefaults = ({ kind, path }: Change): boolean => kind === 'rules' && path.at(-1) === defaultRulesName
