import type { Configuration, Place, Server } from './configuration.ts'
import type { Facts } from './facts.ts'
import { type UpEffect, upEffectOf } from './up-effects.ts'

/** `error`: users cannot log in, servers do not start or cannot call each other, or something is open. */
export type Severity = 'error' | 'warning' | 'info'

/** Something that is wrong with a configuration. */
export interface Finding extends Place {
  readonly code: string
  readonly severity: Severity
  /** What is wrong. */
  readonly problem: string
  /** What happens because of it. */
  readonly effect: string
  /** How to fix it. */
  readonly fix: string
  /** The servers that have the problem, by folder. */
  readonly servers: readonly string[]
  /** Set if these servers do not start with Druid. */
  readonly prevents: 'start' | undefined
  /** Who cannot use these servers because of it: `everyone`, `the servers`, `directory users`, or `users of NAME`. */
  readonly locksOut: string | undefined
  /** What `./svc up --config` does. */
  readonly up: UpEffect
}

/** What checks read. They access nothing else. */
export interface CheckInput {
  readonly configuration: Configuration
  readonly facts: Facts
  /** Epoch milliseconds. */
  readonly now: number
}

/** One problem that a check has found at a server. `prevents`, `up`, and `locksOut` override those of the check. */
export type Hit = Pick<Finding, 'problem' | 'effect' | 'fix'> & {
  readonly at: Place
  readonly prevents?: 'start'
  readonly up?: UpEffect
  readonly locksOut?: string | undefined
}

/** A check of one server. `code` is stable, so that scripts can use it. */
export interface Check {
  readonly code: string
  readonly severity: Severity
  /** Set if a server with the problem does not start with Druid. */
  readonly prevents?: 'start'
  readonly locksOut?: string
  find(server: Server, input: CheckInput): readonly Hit[]
}

const order: readonly Severity[] = ['error', 'warning', 'info']

/** Runs checks for all servers. Servers with the same problem share a finding; errors come first. */
export function findProblems(checks: readonly Check[], input: CheckInput): Finding[] {
  const found = new Map<string, Finding>()
  for (const { code, severity, find, ...check } of checks)
    for (const server of input.configuration.servers)
      for (const hit of find(server, input)) {
        const {
          at,
          prevents = check.prevents,
          up = upEffectOf(code),
          locksOut = check.locksOut,
          ...texts
        } = hit
        // A missing property belongs in the common file if several servers lack it, so the place is not compared then.
        const key = JSON.stringify([code, at.line === undefined ? '' : at.file, at.line, texts, up])
        const known = found.get(key)
        const file = known && known.file !== at.file ? input.configuration.commonFile : at.file
        const servers = [...new Set([...(known?.servers ?? []), server.name])]
        const where = { file, line: at.line, servers }
        found.set(key, { code, severity, ...where, ...texts, prevents, locksOut, up })
      }
  return [...found.values()].sort(
    (a, b) =>
      order.indexOf(a.severity) - order.indexOf(b.severity) ||
      a.file.localeCompare(b.file) ||
      (a.line ?? 0) - (b.line ?? 0),
  )
}
