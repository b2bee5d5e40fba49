import { describeError } from '@svc/domain/failure'
import { joinedListTexts, jsonObject } from '@svc/domain/json'
import { type PreviewWarning, warningsOfList } from '@svc/domain/preview'
import {
  assertNotEmptyDefaults,
  defaultRule,
  defaultRulesName,
  formatRule,
  parseRulesInSlices,
  type Rule,
  rulesSchema,
} from '@svc/domain/rules'
import type { ValuesOf } from '@svc/domain/validation'
import { readLater } from '@svc/domain/validation'
import {
  datasource,
  emptyAnswer,
  entityTag,
  JsonPieces,
  jsonAnswer,
  jsonBody,
  Reply,
  type Route,
  type RouteInput,
  route,
  state,
  versionCheck,
} from '@svc/shared/http'
import { loadAuditKeys, saveRules } from '@svc/shared/postgres'
import { accessTo, type Caller } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { rulesShape } from '@svc/shared/shapes'
import { createSlices, finishInSlices } from '@svc/shared/slices'
import { historyParameters, presence, presenceUnlessFalse } from '@svc/shared/wire'
import * as z from 'zod'
import { fullHistoryEntryShape, historyAnswer, warningsHeader } from '../answers/index.ts'
import { type FollowedRules, readableRules, readsRules, rulesText } from '../inventory/index.ts'
import { noGuard, type RulesGuard } from './rules-guard.ts'

const rulesPath = '/svc/coordinator/v1/rules'

// Like Druid 37, return one week if neither an interval nor a count is given.
const defaultHistoryMs = 7 * 24 * 60 * 60 * 1000

const historyQuery = { ...historyParameters, full: presence }

// Max time that a rule change waits for its warnings.
const warningsTimeoutMs = 2000

/** Returns warnings about the current rules of a datasource, without those about data that the caller may not read. */
type WarningsOf = (
  dataSource: string,
  caller: Caller,
  signal: AbortSignal,
) => Promise<readonly PreviewWarning[]>

/** Reads and replaces the rules of one datasource, or the cluster default rules under `_default`. */
export interface RuleLists {
  /** Returns a reply with the rules as JSON. `full` appends the cluster default rules. */
  show(dataSource: string, full: boolean): Promise<Reply>
  /**
   * Stores rules given as JSON. Returns a reply with warnings about them. Throws invalidInput if they are invalid, and
   * conflict if the policy of the cluster forbids them, or if the request requires a version that is not the present one.
   */
  replace(dataSource: string, json: unknown, request: RulesRequest): Promise<Reply>
}

/** A request to change rules. */
export type RulesRequest = Pick<RouteInput<unknown, unknown>, 'audit' | 'caller' | 'request' | 'signal'> & {
  readonly query: { readonly overridePolicy: boolean }
}

/** Maximum bytes of a list of rules: enough for 10,000 rules with intervals and several tiers. */
export const maxRulesBytes = 2 * 1024 * 1024

/** The query parameters of a request to change rules. */
export const replaceRulesQuery = { overridePolicy: presenceUnlessFalse }

export function createRuleLists(
  { database, clock, logger }: Pick<ServiceContext, 'database' | 'clock' | 'logger'>,
  rules: FollowedRules,
  warningsOf: WarningsOf,
  guard: RulesGuard = noGuard,
): RuleLists {
  const slices = createSlices()

  async function replaceRules(
    dataSource: string,
    list: readonly Rule[],
    { audit, caller, request, signal, query }: RulesRequest,
  ): Promise<void> {
    if (dataSource === defaultRulesName) assertNotEmptyDefaults(list, 'rules')
    const { overridePolicy: overridesPolicy } = query
    await guard.save({ dataSource, list, audit, caller, overridesPolicy, signal }, async (audited) => {
      const checkVersion = versionCheck(request, `the rules of [${dataSource}]`)
      await saveRules(database, dataSource, await rulesText(list), audited, clock.now(), checkVersion)
      rules.invalidate()
    })
  }

  const warningsByThemselves = (dataSource: string, list: readonly Rule[]) =>
    slices
      .run(() => warningsOfList(dataSource, list, clock.now()), AbortSignal.timeout(warningsTimeoutMs))
      .catch(() => [])

  /** Returns warnings about stored rules. A preview that fails does not fail the change. */
  async function warn(dataSource: string, list: readonly Rule[], caller: Caller): Promise<Reply> {
    const warnings = await warningsOf(dataSource, caller, AbortSignal.timeout(warningsTimeoutMs)).catch(
      (error) => {
        logger.warn('Failed to preview new rules', { dataSource, error: describeError(error) })
        return warningsByThemselves(dataSource, list)
      },
    )
    return new Reply(200, undefined, { 'X-Svc-Warnings': warningsHeader(warnings) })
  }
  return {
    show: async (dataSource, full) => {
      const { rules: stored, auditIds } = await rules.snapshot()
      const own = stored.get(dataSource) ?? []
      const defaults = full && dataSource !== defaultRulesName ? (stored.get(defaultRulesName) ?? []) : []
      return new Reply(200, joinedListTexts(await Promise.all([own, defaults].map(rulesText))), {
        'Content-Type': 'application/json; charset=utf-8',
        ...entityTag(auditIds.get(dataSource) ?? 0),
      })
    },
    replace: async (dataSource, json, request) => {
      // Before the rules are parsed: ./svc apply checks permissions with an invalid body.
      if (request.query.overridePolicy) guard.assertMayOverride(request.caller)
      const list = await finishInSlices(parseRulesInSlices(json))
      await replaceRules(dataSource, list, request)
      return await warn(dataSource, list, request.caller)
    },
  }
}

/** Generates names and their rules as JSON text. */
async function* rulesTexts(
  lists: readonly (readonly [name: string, list: readonly Rule[]])[],
): AsyncGenerator<[name: string, text: string][]> {
  for (const [name, list] of lists) yield [[name, await rulesText(list)]]
}

/**
 * Returns the endpoints that read and replace retention rules, for the leader: each server learns of changes by others a little
 * later, and one that cannot reach the metadata store does not learn of them.
 */
export function rulesRoutes(rules: FollowedRules, lists: RuleLists): Route[] {
  return [
    route({
      method: 'GET',
      path: rulesPath,
      access: state('READ'),
      summary: 'List the cluster default rules and the rules of all datasources that the caller may read',
      answers: [jsonAnswer(z.record(z.string(), rulesShape))],
      handle: async ({ caller }) => {
        const current = await rules.current()
        const readable = readableRules(current, await accessTo(caller, current.keys(), 'SEE'))
        return new JsonPieces(jsonObject(rulesTexts([...readable])))
      },
    }),
    route({
      method: 'GET',
      path: `${rulesPath}/:dataSource`,
      isForRules: true,
      access: datasource('READ'),
      summary: 'Get the rules of a datasource; `full` appends the cluster default rules',
      query: { full: presence },
      answers: [jsonAnswer(rulesShape)],
      handle: ({ params, query }) => lists.show(params.dataSource as string, query.full),
    }),
    route({
      method: 'POST',
      path: `${rulesPath}/:dataSource`,
      isForRules: true,
      access: datasource('WRITE'),
      summary:
        'Replace the rules of a datasource, or, with `_default`, the cluster default rules. With `If-Match`, the rules are replaced only if the ETag is current. With `overridePolicy`, the rules are replaced even if the policy of the cluster forbids the change (requires WRITE on `rulesOverride`)',
      query: replaceRulesQuery,
      body: jsonBody(readLater(rulesSchema), { limitBytes: maxRulesBytes }),
      answers: [emptyAnswer],
      failures: ['conflict', 'unavailable'],
      handle: (input) => lists.replace(input.params.dataSource as string, input.body, input),
    }),
  ]
}

/** Returns the endpoints for the history of rules. */
export function ruleHistoryRoutes(context: Pick<ServiceContext, 'database' | 'clock'>): Route[] {
  return [
    route({
      method: 'GET',
      path: `${rulesPath}/history`,
      access: state('READ'),
      summary:
        'List the changes to the cluster default rules and to the rules of all datasources that the caller may read; `full` adds the ID of each change and the rules that it replaced',
      query: historyQuery,
      answers: [jsonAnswer(z.array(fullHistoryEntryShape))],
      handle: async ({ query, caller }) => {
        // Changes that the caller may not read must not use up the count.
        const names = await loadAuditKeys(context.database, 'rules')
        const isReadable = readsRules(await accessTo(caller, names, 'SEE'))
        return historyOf(context, names.filter(isReadable), query)
      },
    }),
    route({
      method: 'GET',
      path: `${rulesPath}/:dataSource/history`,
      isForRules: true,
      access: datasource('READ'),
      summary:
        'List the changes to the rules of a datasource; `full` adds the ID of each change and the rules that it replaced',
      query: historyQuery,
      answers: [jsonAnswer(z.array(fullHistoryEntryShape))],
      handle: ({ params, query }) => historyOf(context, [params.dataSource as string], query),
    }),
  ]
}

/** Returns the changes to the rules of some datasources. */
function historyOf(
  { database, clock }: Pick<ServiceContext, 'database' | 'clock'>,
  dataSources: readonly string[],
  { interval, count, full }: ValuesOf<typeof historyQuery>,
): JsonPieces {
  const lastWeek = { start: clock.now() - defaultHistoryMs, end: Number.POSITIVE_INFINITY }
  return historyAnswer(database, {
    type: 'rules',
    keys: dataSources,
    count,
    interval: interval ?? (count === undefined ? lastWeek : undefined),
    withReplaced: full,
  })
}

/** Default rules of a new cluster as stored JSON. */
export const firstDefaultRules = JSON.stringify([formatRule(defaultRule)])
