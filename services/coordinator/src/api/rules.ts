import { describeError, invalidInput } from '@svc/domain/failure'
import { type PreviewWarning, warningsOfList } from '@svc/domain/preview'
import {
  defaultRule,
  defaultRulesName,
  formatRule,
  parseRules,
  type Rule,
  rulesSchema,
} from '@svc/domain/rules'
import {
  type AuditInfo,
  configLimitBytes,
  datasource,
  emptyAnswer,
  jsonAnswer,
  jsonBody,
  Reply,
  type Route,
  route,
  state,
} from '@svc/shared/http'
import { loadAudit, loadAuditKeys, saveRules } from '@svc/shared/postgres'
import { createSlices } from '@svc/shared/runtime'
import type { ServiceContext } from '@svc/shared/service'
import { rulesShape } from '@svc/shared/shapes'
import { intervalParameter, positiveCount, presence, shapeOf, unparsed } from '@svc/shared/wire'
import { z } from 'zod'
import type { FollowedRules } from '../inventory/index.ts'
import { historyEntry, historyEntryShape } from './history-entry.ts'
import { warningsHeader } from './warnings-header.ts'

const rulesPath = '/svc/coordinator/v1/rules'

// The recorded system looks back a week where neither an interval nor a count is given.
const defaultHistoryMs = 7 * 24 * 60 * 60 * 1000

const historyQuery = z.object({ interval: intervalParameter.optional(), count: positiveCount.optional() })

// Whoever changes rules does not wait longer than this to hear what may not have been meant.
const warningsTimeoutMs = 2000

/** What is to be said of the rules that a datasource has now. */
type WarningsOf = (dataSource: string, signal: AbortSignal) => Promise<readonly PreviewWarning[]>

/** Reads and replaces the rules of one datasource, or the cluster default rules under `_default`. */
export interface RuleLists {
  /** Its rules as JSON; with `full` the cluster default rules after them. */
  show(dataSource: string, full: boolean): Promise<object[]>
  /** Stores the rules that JSON holds, and answers what is to be said of them. */
  replace(dataSource: string, json: unknown, audit: AuditInfo): Promise<Reply>
}

export function createRuleLists(
  { database, clock, logger }: Pick<ServiceContext, 'database' | 'clock' | 'logger'>,
  rules: FollowedRules,
  warningsOf: WarningsOf,
): RuleLists {
  const slices = createSlices()
  const rulesOf = async (dataSource: string): Promise<readonly Rule[]> =>
    (await rules.current()).get(dataSource) ?? []

  async function replaceRules(dataSource: string, list: readonly Rule[], audit: AuditInfo): Promise<void> {
    if (dataSource === defaultRulesName && list.length === 0) {
      throw invalidInput(
        'The cluster default rules [_default] cannot be empty; expected a list of at least one rule',
      )
    }
    await saveRules(database, dataSource, JSON.stringify(list.map(formatRule)), audit, clock.now())
    rules.invalidate()
  }

  const warningsByThemselves = (dataSource: string, list: readonly Rule[]) =>
    slices
      .run(() => warningsOfList(dataSource, list, clock.now()), AbortSignal.timeout(warningsTimeoutMs))
      .catch(() => [])

  /** The warnings about rules that have been stored: they are never a reason to refuse. */
  async function warn(dataSource: string, list: readonly Rule[]): Promise<Reply> {
    const warnings = await warningsOf(dataSource, AbortSignal.timeout(warningsTimeoutMs)).catch((error) => {
      logger.warn('Failed to preview new rules', { dataSource, error: describeError(error) })
      return warningsByThemselves(dataSource, list)
    })
    return new Reply(200, undefined, { 'X-Svc-Warnings': warningsHeader(warnings) })
  }
  return {
    show: async (dataSource, full) => {
      const own = await rulesOf(dataSource)
      const defaults = full && dataSource !== defaultRulesName ? await rulesOf(defaultRulesName) : []
      return [...own, ...defaults].map(formatRule)
    },
    replace: async (dataSource, json, audit) => {
      const list = parseRules(json)
      await replaceRules(dataSource, list, audit)
      return await warn(dataSource, list)
    },
  }
}

/** The endpoints of retention rules. */
export function rulesRoutes(
  { database, clock }: Pick<ServiceContext, 'database' | 'clock'>,
  rules: FollowedRules,
  lists: RuleLists,
): Route[] {
  async function history(dataSources: readonly string[], { interval, count }: z.infer<typeof historyQuery>) {
    const lastWeek = { start: clock.now() - defaultHistoryMs, end: Number.POSITIVE_INFINITY }
    const entries = await loadAudit(database, {
      type: 'rules',
      keys: dataSources,
      count,
      interval: interval ?? (count === undefined ? lastWeek : undefined),
    })
    return entries.map(historyEntry)
  }

  return [
    route({
      method: 'GET',
      path: rulesPath,
      access: state('READ'),
      summary: 'The cluster default rules, and those of all datasources that the caller may read',
      answers: [jsonAnswer(z.record(z.string(), rulesShape))],
      handle: async ({ caller }) =>
        Object.fromEntries(
          [...(await rules.current())]
            .filter(([dataSource]) => dataSource === defaultRulesName || caller.sees(dataSource))
            .map(([dataSource, list]) => [dataSource, list.map(formatRule)]),
        ),
    }),
    route({
      method: 'GET',
      path: `${rulesPath}/history`,
      access: state('READ'),
      summary:
        'Changes of the cluster default rules, and of those of all datasources that the caller may read',
      query: historyQuery,
      answers: [jsonAnswer(z.array(historyEntryShape))],
      handle: async ({ query, caller }) => {
        // Changes that the caller may not read take no place among those that are counted.
        const names = await loadAuditKeys(database, 'rules')
        return await history(
          names.filter((name) => name === defaultRulesName || caller.sees(name)),
          query,
        )
      },
    }),
    route({
      method: 'GET',
      path: `${rulesPath}/:dataSource`,
      isForRules: true,
      access: datasource('READ'),
      summary: 'The rules of a datasource; with full the cluster default rules after them',
      query: z.object({ full: presence }),
      answers: [jsonAnswer(rulesShape)],
      handle: ({ params, query }) => lists.show(params.dataSource as string, query.full),
    }),
    route({
      method: 'POST',
      path: `${rulesPath}/:dataSource`,
      isForRules: true,
      access: datasource('WRITE'),
      summary: 'Replaces the rules of a datasource, or the cluster default rules under _default',
      body: jsonBody(unparsed(shapeOf(rulesSchema())), { limitBytes: configLimitBytes }),
      answers: [emptyAnswer],
      handle: ({ params, body, audit }) => lists.replace(params.dataSource as string, body, audit),
    }),
    route({
      method: 'GET',
      path: `${rulesPath}/:dataSource/history`,
      isForRules: true,
      access: datasource('READ'),
      summary: 'Changes of the rules of a datasource',
      query: historyQuery,
      answers: [jsonAnswer(z.array(historyEntryShape))],
      handle: ({ params, query }) => history([params.dataSource as string], query),
    }),
  ]
}

/** The rule list that a new cluster begins with, as it is stored. */
export const firstDefaultRules = JSON.stringify([formatRule(defaultRule)])
