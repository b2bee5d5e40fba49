import type { RuleJson } from '@svc/domain/rules'
import { escapeInvisible, isJsonObject, type JsonObject } from '@svc/domain/validation'
import {
  type Change,
  fieldAt,
  isField,
  meaningOf,
  type Plan,
  type SectionKind,
  writtenValue,
} from '../declared-state/index.ts'
import type { PreviewReport } from '../preview/index.ts'
import { diffOfRules } from '../rules/index.ts'
import { countOf } from '../terminal/index.ts'

/** A line of a difference. */
export interface PlanLine {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** What changes in one part of the configuration. */
export interface PlanBlock {
  /** Such as `rules.wikipedia`. */
  readonly heading: string
  readonly lines: readonly PlanLine[]
}

/** A plan for people, independent of its format. */
export interface PlanReport {
  readonly title: string
  /** How many changes there are, in a sentence. */
  readonly summary: string
  readonly blocks: readonly PlanBlock[]
  readonly warnings: readonly string[]
  /** Undefined if no rules change. */
  readonly preview: PreviewReport | undefined
}

/** Returns what a plan shows to people. */
export function planReport(
  { id, cluster, changes }: Plan,
  warnings: readonly string[],
  preview: PreviewReport | undefined,
): PlanReport {
  return {
    title: `Plan ${id} for ${cluster}`,
    summary: summaryOf(changes),
    blocks: blocksOf(changes),
    warnings,
    preview,
  }
}

/** Returns how many changes there are, in a sentence. */
export function summaryOf(changes: readonly Change[]): string {
  if (changes.length === 0) return 'No changes.'
  const count = (action: Change['action']): number => changes.filter((one) => one.action === action).length
  const parts = [
    [count('add'), 'to add'],
    [count('change'), 'to change'],
    [count('remove'), 'to remove'],
  ] as const
  const shown = parts.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`)
  return `${countOf(changes.length, 'change')}: ${shown.join(', ')}.`
}

/** Returns what changes, by entry; fields of the same configuration are together. */
export function blocksOf(changes: readonly Change[]): PlanBlock[] {
  const blocks = new Map<string, PlanLine[]>()
  for (const change of changes) {
    const heading = escapeInvisible(fieldAt(isField(change) ? change.path.slice(0, -1) : change.path))
    // JSON escapes only some control characters, and names of fields are not JSON.
    const lines = (isField(change) ? linesOfField(change) : linesOf(change)).map((line) => ({
      ...line,
      text: escapeInvisible(line.text),
    }))
    blocks.set(heading, [...(blocks.get(heading) ?? []), ...lines])
  }
  return [...blocks].map(([heading, lines]) => ({ heading, lines }))
}

function linesOf({ kind, path, before, after }: Change): PlanLine[] {
  const name = path.at(-1)!
  const [old, fresh] = [before, after].map((value) =>
    // Where the password of a login is never counts as a difference, but is worth knowing.
    value === undefined || kind === 'logins'
      ? value
      : writtenValue(kind, name, shownValue(kind, name, value)),
  )
  if (Array.isArray(old ?? []) && Array.isArray(fresh ?? [])) {
    const items = diffOfRules((old ?? []) as RuleJson[], (fresh ?? []) as RuleJson[])
    const lines = items.map((line) => ({ kind: line.kind, text: JSON.stringify(line.rule) }))
    return lines.length > 0 ? lines : [{ kind: before === undefined ? 'added' : 'removed', text: '[]' }]
  }
  const [a, b] = [old, fresh].map((value): JsonObject => (isJsonObject(value) ? value : {}))
  const names = [...new Set([...Object.keys(a!), ...Object.keys(b!)])]
  const lines = names.flatMap((field) => fieldLines(field, a![field], b![field]))
  return lines.length > 0 ? lines : [{ kind: after === undefined ? 'removed' : 'added', text: '{}' }]
}

function linesOfField({ kind, path, before, after }: Change): PlanLine[] {
  const name = path.at(-1)!
  return fieldLines(name, shownValue(kind, name, before), shownValue(kind, name, after))
}

/** A value in the form in which two that mean the same are equal. */
const shownValue = (kind: SectionKind, name: string, value: unknown): unknown =>
  value === undefined ? value : meaningOf(kind, value, name)

function fieldLines(name: string, before: unknown, after: unknown): PlanLine[] {
  const [old, fresh] = [before, after].map((value) => JSON.stringify(value) as string | undefined)
  if (old === fresh) return [{ kind: 'same', text: `${name}: ${old}` }]
  return [
    ...(old === undefined ? [] : [{ kind: 'removed' as const, text: `${name}: ${old}` }]),
    ...(fresh === undefined ? [] : [{ kind: 'added' as const, text: `${name}: ${fresh}` }]),
  ]
}

const signs = { same: ' ', removed: '-', added: '+' } as const

/** Returns the lines of all blocks as a difference in text. */
export function diffText(blocks: readonly PlanBlock[]): string[] {
  return blocks.flatMap(({ heading, lines }) => [
    heading,
    ...lines.map(({ kind, text }) => `  ${signs[kind]} ${text}`),
  ])
}

/** Returns the lines of all blocks for a code block of the language `diff`, which needs the signs first. */
export function diffMarkdown(blocks: readonly PlanBlock[]): string[] {
  return blocks.flatMap(({ heading, lines }) => [
    `# ${heading}`,
    ...lines.map(({ kind, text }) => `${signs[kind]} ${text}`),
  ])
}
