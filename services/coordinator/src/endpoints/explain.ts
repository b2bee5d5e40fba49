import { summarizeCompaction } from '@svc/domain/compaction'
import { type CompactionPlanner, scheduleOf } from '@svc/shared/compaction'
import { datasource, jsonAnswer, type Route, route, state } from '@svc/shared/http'
import { accessTo } from '@svc/shared/security'
import * as z from 'zod'
import { serverProblemsShape } from '../answers/index.ts'
import type { ClusterView } from '../cluster-view.ts'
import type { Explanations } from '../explanation/index.ts'
import { atLeader } from '../leadership/index.ts'
import { pathInterval } from './datasources.ts'

const base = '/svc/coordinator/v1/datasources/:dataSource'

const causeShape = z
  .object({
    code: z.string().describe('A stable code, for example `noSpace` or `dropRule`'),
    tier: z.string().optional(),
    text: z.string(),
  })
  .meta({ title: 'Cause' })

const ruleShape = z.object({
  number: z.int().describe('Position among all rules of the datasource, including the default rules'),
  place: z
    .int()
    .describe(
      'Position within the rules of the datasource or within the default rules, depending on `source`',
    ),
  source: z.enum(['dataSource', 'defaults', 'lastRule']),
  rule: z.looseObject({ type: z.string() }),
})

const tierShape = z.object({
  tier: z.string(),
  required: z.int(),
  served: z.int(),
  loading: z.int(),
  dropping: z.int(),
  leaving: z.int().describe('Replicas on decommissioning servers'),
  servers: z.int(),
  activeServers: z.int(),
  failedServers: z.int().describe('Servers that failed to load the segment and do not have it'),
  candidates: z
    .record(z.string(), z.int())
    .optional()
    .describe(
      'Number of servers that are neither serving nor loading the segment, keyed by `canLoad` or by the reason why they cannot load the segment; requires READ on STATE',
    ),
})

const serverShape = z.object({
  server: z.string(),
  tier: z.string(),
  state: z.enum(['serves', 'loads', 'drops', 'canLoad', 'cannotLoad', 'unknown']),
  obstacle: z.string().optional(),
  text: z.string(),
  failure: z
    .object({ failures: z.int(), error: z.string(), at: z.string(), retryAt: z.string() })
    .optional()
    .describe(
      'Failed attempts to load the segment since it was last loaded: their number and the last error',
    ),
})

const common = {
  segment: z.string(),
  dataSource: z.string(),
  interval: z.string(),
  sizeBytes: z.int(),
  summary: z.string(),
  causes: z.array(causeShape),
}

const usedShape = z
  .object({
    ...common,
    state: z.enum(['loaded', 'partial', 'missing', 'unwanted', 'overshadowed']),
    rule: ruleShape.describe('The first rule that applies'),
    earlierRules: z
      .array(ruleShape.extend({ text: z.string() }))
      .describe('Earlier rules, each with the reason why it does not apply'),
    omittedRules: z.int(),
    tiers: z.array(tierShape),
    omittedTiers: z.int().describe('Number of tiers without servers that are not listed'),
    servers: z.array(serverShape),
    omittedServers: z.int(),
    next: z.array(
      z.object({
        code: z.string(),
        at: z.string().optional(),
        text: z.string(),
        place: z
          .int()
          .optional()
          .describe(
            'Position in the load queue of a server, or among the replicas of a tier that wait for later runs, starting at 1',
          ),
        doneAt: z.string().optional().describe('Expected completion time of the load'),
      }),
    ),
  })
  .meta({ title: 'SegmentExplanation' })

const unusedShape = z
  .object({ ...common, state: z.literal('unused') })
  .meta({ title: 'UnusedSegmentExplanation' })

const intervalShape = z
  .object({
    dataSource: z.string(),
    interval: z.string(),
    segments: z.int(),
    summary: z.string(),
    states: z.record(z.string(), z.int()),
    explained: z.int().describe('Number of segments that were examined'),
    notLoaded: z.array(
      z.object({ segment: z.string(), state: z.string(), summary: z.string(), causes: z.array(causeShape) }),
    ),
    unused: z
      .array(
        z.object({
          code: z.string(),
          segments: z.int(),
          example: z.object({ segment: z.string(), text: z.string() }),
        }),
      )
      .describe('Number of unused segments by cause, with one example each'),
  })
  .meta({ title: 'IntervalExplanation' })

const clusterShape = z
  .object({
    state: z.enum(['unknown', 'paused', 'working', 'settled', 'short']),
    sentences: z.array(z.string()),
    unavailableServers: serverProblemsShape,
  })
  .meta({ title: 'ClusterExplanation' })

const sentencesShape = z.object({ sentences: z.array(z.string()) }).meta({ title: 'Explanation' })

/** Returns the endpoints that explain why segments are where they are, and what the cluster is doing. */
export function explainRoutes(
  { leadership, context }: Pick<ClusterView, 'leadership' | 'context'>,
  explanations: Explanations,
  planner: Pick<CompactionPlanner, 'plan'>,
): Route[] {
  return [
    route({
      method: 'GET',
      path: `${base}/segments/:segment/explain`,
      access: datasource('READ'),
      summary:
        'Explain a segment: the rule that applies, its replicas by tier, why replicas are missing, and what happens next',
      answers: [jsonAnswer(z.union([usedShape, unusedShape]))],
      handle: ({ params, caller }) =>
        explanations.ofSegment(params.dataSource as string, params.segment as string, caller),
    }),
    route({
      method: 'GET',
      path: `${base}/intervals/:interval/explain`,
      access: datasource('READ'),
      summary:
        'Explain the used segments that overlap an interval (format: `start_end`), and count the unused ones',
      answers: [jsonAnswer(intervalShape)],
      handle: ({ params, caller, signal }) =>
        explanations.ofInterval(
          params.dataSource as string,
          pathInterval(params.interval as string),
          caller,
          signal,
        ),
    }),
    route({
      method: 'GET',
      path: '/svc/coordinator/v1/cluster/explain',
      access: state('READ'),
      summary: 'Summarize what the cluster is doing and what is holding it up',
      answers: [jsonAnswer(clusterShape)],
      handle: async ({ caller }) => {
        const explained = await explanations.ofCluster(caller)
        const live = await planner.plan()
        const compaction = { plan: live.plan, schedule: scheduleOf(live, context.clock.now()) }
        const sees = await accessTo(caller, live.findings.keys(), 'SEE')
        return {
          ...explained,
          sentences: [...explained.sentences, ...summarizeCompaction(compaction, sees)],
        }
      },
    }),
    route({
      method: 'GET',
      path: '/svc/coordinator/v1/servers/:server/explain',
      access: state('READ'),
      summary: 'Explain a server: what it stores, what it is doing, and why no more loads are assigned to it',
      answers: [jsonAnswer(sentencesShape)],
      handle: ({ params, caller }) => explanations.ofServer(params.server as string, caller),
    }),
    route({
      method: 'GET',
      path: '/svc/coordinator/v1/tiers/:tier/explain',
      access: state('READ'),
      summary: 'Explain a tier: its servers, what they are doing, and which replicas are missing',
      answers: [jsonAnswer(sentencesShape)],
      handle: ({ params, caller }) => explanations.ofTier(params.tier as string, caller),
    }),
  ].map((one) => atLeader(leadership, context, one))
}
