import type { Choices } from './choices.ts'
import { authenticator, authorizer } from './logins.ts'
import { defaultTier, type State, tiers } from './state.ts'

/** One request that is sent to both systems. */
export interface DifferentialRequest {
  /** The endpoint, with names of its parameters. */
  readonly endpoint: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent unchanged instead of `json`. */
  readonly text?: string
}

/** A way to create random requests to one endpoint. */
interface Endpoint {
  /** For example `GET /druid/coordinator/v1/rules`. */
  readonly name: string
  /** How often it is chosen, compared with others; a multiple of a quarter. */
  readonly weight: number
  readonly make: (choices: Choices, state: State) => Omit<DifferentialRequest, 'endpoint' | 'method'>
}

const coordinator = '/druid/coordinator/v1'
const overlord = '/druid/indexer/v1'
const authentication = `/druid-ext/basic-security/authentication/db/${authenticator}`
const authorization = `/druid-ext/basic-security/authorization/db/${authorizer}`

const encode = encodeURIComponent

/** A datasource: mostly one that exists. */
const dataSourceOf = (choices: Choices, state: State): string =>
  choices.chance(0.9) ? choices.one(state.dataSources) : choices.one(['nosuch', 'WIKIPEDIA', 'a b'])

/** A segment id: mostly one of the datasource, sometimes of another one, or not an id. */
function segmentOf(choices: Choices, state: State, dataSource: string): string {
  const own = state.segments.filter(({ payload }) => payload.dataSource === dataSource)
  const ids = (own.length > 0 && choices.chance(0.85) ? own : state.segments).map(
    ({ payload }) => payload.identifier,
  )
  return ids.length === 0 || choices.chance(0.1)
    ? choices.one(['nosuch', `${dataSource}_nosuch`, ...ids.slice(0, 1).map((id) => `${id}_0`)])
    : choices.one(ids)
}

const boundaries = ['2024-01-01', '2025-06-15T12:00:00Z', '2026-10-20', '2026-11-20', '2027-01-01']

function intervalOf(choices: Choices, state: State, separator: '/' | '_'): string {
  const text =
    choices.chance(0.5) && state.segments.length > 0
      ? choices.one(state.segments).payload.interval
      : `${choices.one(boundaries.slice(0, 2))}/${choices.one(boundaries.slice(2))}`
  return choices.chance(0.08)
    ? choices.one(['nonsense', '2026-13-01/2026-14-01', '2027-01-01/2026-01-01'])
    : text.replace('/', separator)
}

/** Query parameters as text; those that are undefined are left out. */
function query(parameters: Readonly<Record<string, string | undefined>>): string {
  const present = Object.entries(parameters).filter(([, value]) => value !== undefined)
  if (present.length === 0) return ''
  return `?${present.map(([name, value]) => (value === '' ? name : `${name}=${encode(value as string)}`)).join('&')}`
}

/** A parameter that is set by its presence. */
const flag = (choices: Choices, probability = 0.4): string | undefined =>
  choices.chance(probability) ? choices.one(['', '', 'true', 'false']) : undefined

const historyQuery = (choices: Choices, state: State, more: Parameters<typeof query>[0] = {}): string =>
  query({
    count: choices.chance(0.4) ? choices.one(['1', '2', '100', '0', '-1', 'x']) : undefined,
    interval: choices.chance(0.3) ? intervalOf(choices, state, '/') : undefined,
    ...more,
  })

/** A random list of rules, sometimes with a mistake. */
function randomRules(choices: Choices, state: State, isDefault: boolean): unknown {
  if (choices.chance(0.08)) {
    return choices.one<unknown>([
      {},
      'x',
      null,
      [{ type: 'nosuch' }],
      [{}],
      [null],
      [{ type: 'loadByPeriod' }],
      [{ type: 'loadByPeriod', period: 'x' }],
      [{ type: 'loadByInterval', interval: 'x' }],
      [{ type: 'loadForever', tieredReplicants: { hot: -1 } }],
      [{ type: 'loadForever', tieredReplicants: { hot: 'x' } }],
      [{ type: 'loadForever', tieredReplicants: [] }],
      [{ type: 'dropByInterval' }],
    ])
  }
  const rules = Array.from({ length: choices.whole(0, 3) }, () => randomRule(choices, state))
  // Some rule applies to every segment: otherwise, Druid does nothing, and svc loads it as the interface requires.
  if (choices.chance(0.7) || isDefault)
    rules.push({ type: choices.one(['loadForever', 'loadForever', 'dropForever']) })
  return rules
}

function randomRule(choices: Choices, state: State): Record<string, unknown> {
  const action = choices.one(['load', 'load', 'load', 'drop', 'drop', 'broadcast'])
  const scope = choices.one(['Forever', 'ByInterval', 'ByPeriod', 'ByPeriod', 'BeforeByPeriod'])
  const isBefore = scope === 'BeforeByPeriod' && action === 'drop'
  const type = `${action}${scope === 'BeforeByPeriod' && !isBefore ? 'ByPeriod' : scope}`
  const rule: Record<string, unknown> = { type }
  if (type.endsWith('ByPeriod')) {
    rule.period = choices.one(['P1D', 'P4D', 'P1M', 'P3M', 'P1Y', 'PT1H', 'P1Y2M3DT4H'])
    if (choices.chance(0.3)) rule.includeFuture = choices.chance(0.5)
  }
  if (type.endsWith('ByInterval')) rule.interval = intervalOf(choices, state, '/')
  if (action === 'load' && choices.chance(0.8)) {
    const chosen = choices.some([...tiers, 'nosuchtier'], 3)
    const counts = new Map(chosen.map((tier) => [tier, choices.one([0, 1, 1, 1, 2])]))
    // Whether newer versions in tiers without servers overshadow older ones differs on purpose.
    const isLoadable = state.servers.some(({ tier }) => (counts.get(tier) ?? 0) > 0)
    if (!isLoadable && [...counts.values()].some((count) => count > 0)) counts.set(defaultTier, 1)
    rule.tieredReplicants = Object.fromEntries(counts)
  }
  if (action === 'load' && choices.chance(0.15)) rule.useDefaultTierForNull = choices.chance(0.5)
  return rule
}

function randomDynamicConfig(choices: Choices): unknown {
  const fields: readonly (readonly [string, readonly unknown[]])[] = [
    ['maxSegmentsToMove', [0, 5, 100, 1000, -1, 'x']],
    ['replicationThrottleLimit', [1, 500, 0, -1]],
    ['replicantLifetime', [15, 1, 0]],
    ['balancerComputeThreads', [1, 2, 0]],
    ['maxSegmentsInNodeLoadingQueue', [0, 100, 500, -1]],
    ['killDataSourceWhitelist', [[], ['wikipedia'], 'wikipedia', 'wikipedia,koalas']],
    ['killPendingSegmentsSkipList', [[], ['koalas']]],
    ['killTaskSlotRatio', [0.1, 1, 0, 2, -1]],
    ['maxKillTaskSlots', [1, 10, 0, -1]],
    ['decommissioningNodes', [[]]],
    ['pauseCoordination', [false]],
    ['replicateAfterLoadTimeout', [true, false]],
    ['useRoundRobinSegmentAssignment', [true, false, 'true', 'x']],
    ['smartSegmentLoading', [true, true, false]],
    ['debugDimensions', [null, {}, { dataSource: 'wikipedia' }]],
    ['turboLoadingNodes', [[]]],
    ['cloneServers', [{}]],
    ['millisToWaitBeforeDeleting', [0]],
    ['nosuch', [1]],
  ]
  if (choices.chance(0.04)) return choices.one<unknown>([[], 'x', 1, null])
  return Object.fromEntries(choices.some(fields, 4).map(([name, values]) => [name, choices.one(values)]))
}

function randomCompactionConfig(choices: Choices, dataSource: string): unknown {
  if (choices.chance(0.04)) return choices.one<unknown>([{}, [], 'x', null])
  const fields: readonly (readonly [string, readonly unknown[]])[] = [
    ['taskPriority', [25, 1, 100, 'x']],
    ['inputSegmentSizeBytes', [100000000000000, 1, 419430400]],
    ['maxRowsPerSegment', [5000000, 1]],
    ['skipOffsetFromLatest', ['P1D', 'PT0H', 'P1M', 'PT1H', 'x']],
    [
      'granularitySpec',
      [
        null,
        { segmentGranularity: 'DAY' },
        { segmentGranularity: 'MONTH', rollup: true },
        { queryGranularity: 'HOUR' },
        { segmentGranularity: 'x' },
      ],
    ],
    [
      'tuningConfig',
      [
        null,
        { partitionsSpec: { type: 'dynamic', maxRowsPerSegment: 1000000 } },
        { partitionsSpec: { type: 'range', partitionDimensions: ['page'], targetRowsPerSegment: 100 } },
        { partitionsSpec: { type: 'nosuch' } },
        { maxRowsInMemory: 10 },
      ],
    ],
    ['dimensionsSpec', [null, { dimensions: ['page'] }]],
    ['metricsSpec', [null, [], [{ type: 'count', name: 'count' }]]],
    ['taskContext', [null, {}, { priority: 3 }]],
    ['ioConfig', [null, { dropExisting: true }]],
    ['engine', [null, 'native', 'msq', 'x']],
    ['nosuch', [1]],
  ]
  const config = Object.fromEntries(
    choices.some(fields, 3).map(([name, values]) => [name, choices.one(values)]),
  )
  return choices.chance(0.97) ? { dataSource, ...config } : config
}

function randomClusterCompactionConfig(choices: Choices): unknown {
  if (choices.chance(0.04)) return choices.one<unknown>([[], 'x', null])
  const fields: readonly (readonly [string, readonly unknown[]])[] = [
    ['compactionTaskSlotRatio', [0.1, 1, 0, 0.5, 2, -1, 'x']],
    ['maxCompactionTaskSlots', [0, 1, 10, 2147483647, -1]],
    [
      'compactionPolicy',
      [
        null,
        { type: 'newestSegmentFirst' },
        { type: 'newestSegmentFirst', priorityDatasource: 'wikipedia' },
        { type: 'mostFragmentedFirst' },
        { type: 'mostFragmentedFirst', minUncompactedCount: 1, minUncompactedBytes: '1KiB' },
        { type: 'fixedIntervalOrder', eligibleCandidates: [] },
        { type: 'nosuch' },
      ],
    ],
    ['engine', [null, 'native', 'msq', 'x']],
    ['storeCompactionStatePerSegment', [true, false]],
  ]
  const chosen = choices.some(fields, 3).map(([name, values]) => [name, choices.one(values)])
  // Its default differs on purpose.
  return { ...Object.fromEntries(chosen), useSupervisors: false }
}

const versionsOf = ({ segments }: State): string[] => [
  ...new Set(segments.map(({ payload }) => payload.version)),
]

/** A body that selects segments to mark. */
function randomFilter(choices: Choices, state: State, dataSource: string): unknown {
  if (choices.chance(0.1))
    return choices.one<unknown>([
      {},
      [],
      null,
      { segmentIds: [] },
      { interval: 'x' },
      { interval: null, segmentIds: null },
      { versions: ['x'] },
    ])
  if (choices.chance(0.5))
    return {
      interval: intervalOf(choices, state, '/'),
      ...(choices.chance(0.3)
        ? { versions: choices.one([[], versionsOf(state).slice(0, 1), ['x'], null]) }
        : {}),
    }
  return {
    segmentIds: Array.from({ length: choices.whole(1, 3) }, () => segmentOf(choices, state, dataSource)),
  }
}

const userNames = ['admin', 'alice', 'bob', 'nosuch']
const roleNames = ['admin', 'readers', 'writers', 'nosuch']
const mappingNames = ['group1', 'group2', 'nosuch']

function randomPermissions(choices: Choices): unknown {
  if (choices.chance(0.1))
    return choices.one<unknown>([
      {},
      'x',
      [{}],
      [{ resource: { name: 'x', type: 'NOSUCH' }, action: 'READ' }],
      [{ resource: { name: '(', type: 'CONFIG' }, action: 'READ' }],
      [{ resource: { name: 'x', type: 'STATE' }, action: 'X' }],
    ])
  return Array.from({ length: choices.whole(0, 3) }, () => ({
    resource: {
      name: choices.one(['.*', 'wikipedia', 'w.*', 'STATE']),
      type: choices.one(['DATASOURCE', 'CONFIG', 'STATE']),
    },
    action: choices.one(['READ', 'WRITE']),
  }))
}

const read = (name: string, weight: number, make: Endpoint['make']): Endpoint => ({
  name: `GET ${name}`,
  weight,
  make,
})
const change = (
  method: 'POST' | 'DELETE',
  name: string,
  weight: number,
  make: Endpoint['make'],
): Endpoint => ({
  name: `${method} ${name}`,
  weight,
  make,
})

/** An endpoint whose path contains a datasource. */
const ofDataSource =
  (before: string, after: (choices: Choices, state: State, dataSource: string) => string): Endpoint['make'] =>
  (choices, state) => {
    const dataSource = dataSourceOf(choices, state)
    return { path: `${before}/${encode(dataSource)}${after(choices, state, dataSource)}` }
  }

const simpleOrFull = (choices: Choices): string => query({ simple: flag(choices), full: flag(choices, 0.3) })

/** Reads whose answers do not depend on whether duties have run since the last change. */
const stableReads: readonly Endpoint[] = [
  read(`${coordinator}/rules`, 2, () => ({ path: `${coordinator}/rules` })),
  read(`${coordinator}/rules/history`, 1, (choices, state) => ({
    path: `${coordinator}/rules/history${historyQuery(choices, state, { full: flag(choices, 0.2) })}`,
  })),
  read(
    `${coordinator}/rules/:dataSource`,
    3,
    ofDataSource(`${coordinator}/rules`, (choices) => query({ full: flag(choices) })),
  ),
  read(
    `${coordinator}/rules/:dataSource/history`,
    2,
    ofDataSource(
      `${coordinator}/rules`,
      (choices, state) => `/history${historyQuery(choices, state, { full: flag(choices, 0.2) })}`,
    ),
  ),
  read(`${coordinator}/config`, 2, () => ({ path: `${coordinator}/config` })),
  read(`${coordinator}/config/history`, 1, (choices, state) => ({
    path: `${coordinator}/config/history${historyQuery(choices, state)}`,
  })),
  read(`${coordinator}/config/compaction`, 2, () => ({ path: `${coordinator}/config/compaction` })),
  read(
    `${coordinator}/config/compaction/:dataSource`,
    2,
    ofDataSource(`${coordinator}/config/compaction`, () => ''),
  ),
  read(
    `${coordinator}/config/compaction/:dataSource/history`,
    1,
    ofDataSource(
      `${coordinator}/config/compaction`,
      (choices, state) => `/history${historyQuery(choices, state)}`,
    ),
  ),
  read(`${overlord}/compaction/config/cluster`, 1, () => ({ path: `${overlord}/compaction/config/cluster` })),
  read(`${overlord}/compaction/config/datasources`, 1, () => ({
    path: `${overlord}/compaction/config/datasources`,
  })),
  read(
    `${overlord}/compaction/config/datasources/:dataSource`,
    1,
    ofDataSource(`${overlord}/compaction/config/datasources`, () => ''),
  ),
  read(
    `${overlord}/compaction/config/datasources/:dataSource/history`,
    1,
    ofDataSource(
      `${overlord}/compaction/config/datasources`,
      (choices, state) => `/history${historyQuery(choices, state)}`,
    ),
  ),
  read(`${overlord}/compaction/isSupervisorEnabled`, 1, () => ({
    path: `${overlord}/compaction/isSupervisorEnabled`,
  })),
  read(`${coordinator}/isLeader`, 1, () => ({ path: `${coordinator}/isLeader` })),
  read(`${overlord}/isLeader`, 1, () => ({ path: `${overlord}/isLeader` })),
  read(`${overlord}/supervisor`, 1, (choices) => ({
    path: `${overlord}/supervisor${query({ full: flag(choices), state: flag(choices), system: flag(choices) })}`,
  })),
  read(`${overlord}/supervisor/history`, 1, () => ({ path: `${overlord}/supervisor/history` })),
  read(`${overlord}/supervisor/:supervisor`, 1, (choices, state) => ({
    path: `${overlord}/supervisor/${encode(`autocompact__${dataSourceOf(choices, state)}`)}${choices.one(['', '/status', '/health', '/history', '/stats'])}`,
  })),
  read(`${overlord}/tasks`, 1, (choices, state) => ({
    path: `${overlord}/tasks${query({ state: choices.chance(0.4) ? choices.one(['running', 'pending', 'waiting', 'complete', 'x']) : undefined, datasource: choices.chance(0.3) ? dataSourceOf(choices, state) : undefined, createdTimeInterval: choices.chance(0.1) ? intervalOf(choices, state, '_') : undefined, max: choices.chance(0.2) ? choices.one(['1', '0', '-1', 'x']) : undefined, type: choices.chance(0.2) ? choices.one(['kill', 'compact', 'x']) : undefined })}`,
  })),
  ...['complete', 'running', 'pending', 'waiting'].map((list) =>
    read(`${overlord}/${list}Tasks`, 0.25, (choices, state) => ({
      path: `${overlord}/${list}Tasks${query({ datasource: choices.chance(0.3) ? dataSourceOf(choices, state) : undefined, max: choices.chance(0.2) ? choices.one(['1', '0', 'x']) : undefined })}`,
    })),
  ),
  {
    name: `POST ${overlord}/taskStatus`,
    weight: 0.5,
    make: (choices) => ({
      path: `${overlord}/taskStatus`,
      json: choices.one<unknown>([[], ['nosuch'], ['a', 'b'], {}, 'x', [1], null]),
    }),
  },
  ...['workers', 'totalWorkerCapacity', 'worker', 'worker/history'].map((name) =>
    read(`${overlord}/${name}`, 0.25, () => ({ path: `${overlord}/${name}` })),
  ),
  read(`${overlord}/task/:task`, 1, (choices) => ({
    path: `${overlord}/task/nosuch${choices.one(['', '/status', '/log'])}`,
  })),
  read(`${authentication}/users`, 1, () => ({ path: `${authentication}/users` })),
  read(`${authentication}/users/:user`, 1, (choices) => ({
    path: `${authentication}/users/${choices.one(userNames)}`,
  })),
  read(`${authorization}/users`, 1, () => ({ path: `${authorization}/users` })),
  read(`${authorization}/users/:user`, 2, (choices) => ({
    path: `${authorization}/users/${choices.one(userNames)}${query({ full: flag(choices), simplifyPermissions: flag(choices) })}`,
  })),
  read(`${authorization}/roles`, 1, () => ({ path: `${authorization}/roles` })),
  read(`${authorization}/roles/:role`, 2, (choices) => ({
    path: `${authorization}/roles/${choices.one(roleNames)}${query({ full: flag(choices), simplifyPermissions: flag(choices) })}`,
  })),
  read(`${authorization}/roles/:role/permissions`, 1, (choices) => ({
    path: `${authorization}/roles/${choices.one(roleNames)}/permissions`,
  })),
  read(`${authorization}/groupMappings`, 1, () => ({ path: `${authorization}/groupMappings` })),
  read(`${authorization}/groupMappings/:mapping`, 1, (choices) => ({
    path: `${authorization}/groupMappings/${choices.one(mappingNames)}${query({ full: flag(choices) })}`,
  })),
]

/** Reads that are compared after both systems have settled. */
const settledReads: readonly Endpoint[] = [
  read(`${coordinator}/loadstatus`, 4, (choices) => ({
    path: `${coordinator}/loadstatus${query({ simple: flag(choices, 0.3), full: flag(choices, 0.4), computeUsingClusterView: flag(choices, 0.3) })}`,
  })),
  read(`${coordinator}/loadqueue`, 1, (choices) => ({
    path: `${coordinator}/loadqueue${query({ simple: flag(choices), full: flag(choices, 0.2) })}`,
  })),
  read(`${coordinator}/servers`, 2, (choices) => ({
    path: `${coordinator}/servers${simpleOrFull(choices)}`,
  })),
  read(`${coordinator}/servers/:server`, 2, (choices, state) => ({
    path: `${coordinator}/servers/${encode(serverOf(choices, state))}${simpleOrFull(choices)}`,
  })),
  read(`${coordinator}/servers/:server/segments`, 1, (choices, state) => ({
    path: `${coordinator}/servers/${encode(serverOf(choices, state))}/segments${query({ full: flag(choices) })}`,
  })),
  read(`${coordinator}/servers/:server/segments/:segment`, 1, (choices, state) => ({
    path: `${coordinator}/servers/${encode(serverOf(choices, state))}/segments/${encode(segmentOf(choices, state, dataSourceOf(choices, state)))}`,
  })),
  read(`${coordinator}/tiers`, 2, (choices) => ({
    path: `${coordinator}/tiers${query({ simple: flag(choices) })}`,
  })),
  read(`${coordinator}/tiers/:tier`, 2, (choices) => ({
    path: `${coordinator}/tiers/${choices.one([...tiers, 'nosuchtier'])}${query({ simple: flag(choices) })}`,
  })),
  read(`${coordinator}/datasources`, 3, (choices) => ({
    path: `${coordinator}/datasources${simpleOrFull(choices)}`,
  })),
  read(`${coordinator}/datasources/:dataSource`, 3, ofDataSource(`${coordinator}/datasources`, simpleOrFull)),
  read(
    `${coordinator}/datasources/:dataSource/loadstatus`,
    4,
    ofDataSource(
      `${coordinator}/datasources`,
      (choices, state) =>
        `/loadstatus${query({ forceMetadataRefresh: choices.chance(0.9) ? choices.one(['true', 'false']) : undefined, interval: choices.chance(0.4) ? intervalOf(choices, state, '_') : undefined, simple: flag(choices, 0.3), full: flag(choices, 0.3), computeUsingClusterView: flag(choices, 0.3) })}`,
    ),
  ),
  read(
    `${coordinator}/datasources/:dataSource/tiers`,
    1,
    ofDataSource(`${coordinator}/datasources`, () => '/tiers'),
  ),
  read(
    `${coordinator}/datasources/:dataSource/intervals`,
    2,
    ofDataSource(`${coordinator}/datasources`, (choices) => `/intervals${simpleOrFull(choices)}`),
  ),
  read(
    `${coordinator}/datasources/:dataSource/intervals/:interval`,
    3,
    ofDataSource(
      `${coordinator}/datasources`,
      (choices, state) => `/intervals/${encode(intervalOf(choices, state, '_'))}${simpleOrFull(choices)}`,
    ),
  ),
  read(
    `${coordinator}/datasources/:dataSource/segments`,
    2,
    ofDataSource(`${coordinator}/datasources`, (choices) => `/segments${query({ full: flag(choices) })}`),
  ),
  read(
    `${coordinator}/datasources/:dataSource/segments/:segment`,
    2,
    ofDataSource(
      `${coordinator}/datasources`,
      (choices, state, dataSource) => `/segments/${encode(segmentOf(choices, state, dataSource))}`,
    ),
  ),
  read(`${coordinator}/intervals`, 1, () => ({ path: `${coordinator}/intervals` })),
  read(`${coordinator}/intervals/:interval`, 2, (choices, state) => ({
    path: `${coordinator}/intervals/${encode(intervalOf(choices, state, '_'))}${simpleOrFull(choices)}`,
  })),
  read(`${coordinator}/metadata/datasources`, 2, (choices) => ({
    path: `${coordinator}/metadata/datasources${query({ full: flag(choices), includeUnused: flag(choices) })}`,
  })),
  read(
    `${coordinator}/metadata/datasources/:dataSource`,
    1,
    ofDataSource(`${coordinator}/metadata/datasources`, (choices) => query({ full: flag(choices, 0.2) })),
  ),
  read(`${coordinator}/metadata/segments`, 3, (choices, state) => ({
    path: `${coordinator}/metadata/segments${query({ datasources: choices.chance(0.5) ? dataSourceOf(choices, state) : undefined, includeOvershadowedStatus: flag(choices), includeRealtimeSegments: flag(choices, 0.15) })}`,
  })),
  read(
    `${coordinator}/metadata/datasources/:dataSource/segments`,
    2,
    ofDataSource(
      `${coordinator}/metadata/datasources`,
      (choices) => `/segments${query({ full: flag(choices) })}`,
    ),
  ),
  read(
    `${coordinator}/metadata/datasources/:dataSource/segments/:segment`,
    3,
    ofDataSource(
      `${coordinator}/metadata/datasources`,
      (choices, state, dataSource) =>
        `/segments/${encode(segmentOf(choices, state, dataSource))}${query({ includeUnused: choices.chance(0.4) ? choices.one(['true', 'false']) : undefined })}`,
    ),
  ),
  read(
    `${coordinator}/metadata/datasources/:dataSource/unusedSegments`,
    3,
    ofDataSource(
      `${coordinator}/metadata/datasources`,
      (choices, state, dataSource) =>
        `/unusedSegments${query({ interval: choices.chance(0.3) ? intervalOf(choices, state, '/') : undefined, limit: choices.chance(0.3) ? choices.one(['1', '2', '1000', '0', '-1']) : undefined, lastSegmentId: choices.chance(0.2) ? segmentOf(choices, state, dataSource) : undefined, sortOrder: choices.chance(0.3) ? choices.one(['ASC', 'DESC', 'asc', 'x']) : undefined })}`,
    ),
  ),
  {
    name: `POST ${coordinator}/metadata/datasources/:dataSource/segments`,
    weight: 1,
    make: (choices, state) => ({
      path: `${coordinator}/metadata/datasources/${encode(dataSourceOf(choices, state))}/segments${query({ full: flag(choices) })}`,
      json: choices.chance(0.1)
        ? choices.one<unknown>([{}, 'x', [1], ['x']])
        : Array.from({ length: choices.whole(0, 2) }, () => intervalOf(choices, state, '/')),
    }),
  },
  read(`${coordinator}/compaction/status`, 2, (choices, state) => ({
    path: `${coordinator}/compaction/status${query({ dataSource: choices.chance(0.5) ? dataSourceOf(choices, state) : undefined })}`,
  })),
  read(`${coordinator}/compaction/progress`, 1, (choices, state) => ({
    path: `${coordinator}/compaction/progress${query({ dataSource: choices.chance(0.9) ? dataSourceOf(choices, state) : undefined })}`,
  })),
  read(`${overlord}/compaction/status/datasources`, 1, () => ({
    path: `${overlord}/compaction/status/datasources`,
  })),
  read(
    `${overlord}/compaction/status/datasources/:dataSource`,
    1,
    ofDataSource(`${overlord}/compaction/status/datasources`, () => ''),
  ),
]

const serverOf = (choices: Choices, { servers }: State): string =>
  servers.length === 0 || choices.chance(0.1)
    ? choices.one(['nosuch', '127.0.0.1:1'])
    : choices.one(servers).name

const withBody =
  (
    before: string,
    after: string,
    body: (choices: Choices, state: State, dataSource: string) => unknown,
  ): Endpoint['make'] =>
  (choices, state) => {
    const dataSource = dataSourceOf(choices, state)
    return { path: `${before}/${encode(dataSource)}${after}`, json: body(choices, state, dataSource) }
  }

/** Changes. Segments are marked at the coordinator and at the overlord. */
const changes: readonly Endpoint[] = [
  change('POST', `${coordinator}/rules/:dataSource`, 8, (choices, state) => {
    const isDefault = choices.chance(0.25)
    return {
      path: `${coordinator}/rules/${encode(isDefault ? '_default' : dataSourceOf(choices, state))}`,
      ...(choices.chance(0.02) ? { text: '[{' } : { json: randomRules(choices, state, isDefault) }),
    }
  }),
  change('POST', `${coordinator}/config`, 3, (choices) => ({
    path: `${coordinator}/config`,
    json: randomDynamicConfig(choices),
  })),
  change('POST', `${coordinator}/config/compaction`, 3, (choices, state) => ({
    path: `${coordinator}/config/compaction`,
    json: randomCompactionConfig(choices, dataSourceOf(choices, state)),
  })),
  change(
    'DELETE',
    `${coordinator}/config/compaction/:dataSource`,
    1,
    ofDataSource(`${coordinator}/config/compaction`, () => ''),
  ),
  change('POST', `${coordinator}/config/compaction/taskslots`, 1, (choices) => ({
    path: `${coordinator}/config/compaction/taskslots${query({ ratio: choices.chance(0.7) ? choices.one(['0.5', '1', '0', 'x', '-1']) : undefined, max: choices.chance(0.7) ? choices.one(['5', '0', 'x', '-1']) : undefined })}`,
  })),
  change('POST', `${overlord}/compaction/config/cluster`, 2, (choices) => ({
    path: `${overlord}/compaction/config/cluster`,
    json: randomClusterCompactionConfig(choices),
  })),
  change(
    'POST',
    `${overlord}/compaction/config/datasources/:dataSource`,
    2,
    withBody(`${overlord}/compaction/config/datasources`, '', (choices, _, dataSource) =>
      randomCompactionConfig(choices, dataSource),
    ),
  ),
  change(
    'DELETE',
    `${overlord}/compaction/config/datasources/:dataSource`,
    1,
    ofDataSource(`${overlord}/compaction/config/datasources`, () => ''),
  ),
  ...[coordinator, overlord].flatMap((role) => [
    change(
      'POST',
      `${role}/datasources/:dataSource`,
      1,
      ofDataSource(`${role}/datasources`, () => ''),
    ),
    change(
      'DELETE',
      `${role}/datasources/:dataSource`,
      1,
      ofDataSource(`${role}/datasources`, () => ''),
    ),
    change(
      'POST',
      `${role}/datasources/:dataSource/markUsed`,
      2,
      withBody(`${role}/datasources`, '/markUsed', randomFilter),
    ),
    change(
      'POST',
      `${role}/datasources/:dataSource/markUnused`,
      2,
      withBody(`${role}/datasources`, '/markUnused', randomFilter),
    ),
    change(
      'POST',
      `${role}/datasources/:dataSource/segments/:segment`,
      1,
      ofDataSource(
        `${role}/datasources`,
        (choices, state, dataSource) => `/segments/${encode(segmentOf(choices, state, dataSource))}`,
      ),
    ),
    change(
      'DELETE',
      `${role}/datasources/:dataSource/segments/:segment`,
      1,
      ofDataSource(
        `${role}/datasources`,
        (choices, state, dataSource) => `/segments/${encode(segmentOf(choices, state, dataSource))}`,
      ),
    ),
  ]),
  change('POST', `${authentication}/users/:user`, 2, (choices) => ({
    path: `${authentication}/users/${choices.one(userNames.slice(0, 3))}`,
  })),
  change('DELETE', `${authentication}/users/:user`, 1, (choices) => ({
    path: `${authentication}/users/${choices.one(userNames.slice(1))}`,
  })),
  change('POST', `${authentication}/users/:user/credentials`, 1, (choices) => ({
    path: `${authentication}/users/${choices.one(userNames.slice(1))}/credentials`,
    json: choices.one<unknown>([
      { password: 'new-password-1' },
      { password: 'new-password-1', iterations: 1000 },
      {},
      [],
      'x',
    ]),
  })),
  change('POST', `${authorization}/users/:user`, 2, (choices) => ({
    path: `${authorization}/users/${choices.one(userNames.slice(0, 3))}`,
  })),
  change('DELETE', `${authorization}/users/:user`, 1, (choices) => ({
    path: `${authorization}/users/${choices.one(userNames.slice(1))}`,
  })),
  change('POST', `${authorization}/roles/:role`, 2, (choices) => ({
    path: `${authorization}/roles/${choices.one(roleNames.slice(0, 3))}`,
  })),
  change('DELETE', `${authorization}/roles/:role`, 1, (choices) => ({
    path: `${authorization}/roles/${choices.one(roleNames.slice(1))}`,
  })),
  change('POST', `${authorization}/roles/:role/permissions`, 2, (choices) => ({
    path: `${authorization}/roles/${choices.one(roleNames.slice(1))}/permissions`,
    json: randomPermissions(choices),
  })),
  change('POST', `${authorization}/users/:user/roles/:role`, 2, (choices) => ({
    path: `${authorization}/users/${choices.one(userNames.slice(1))}/roles/${choices.one(roleNames)}`,
  })),
  change('DELETE', `${authorization}/users/:user/roles/:role`, 1, (choices) => ({
    path: `${authorization}/users/${choices.one(userNames.slice(1))}/roles/${choices.one(roleNames)}`,
  })),
  change('POST', `${authorization}/groupMappings/:mapping`, 2, (choices) => {
    const name = choices.one(mappingNames.slice(0, 2))
    return {
      path: `${authorization}/groupMappings/${name}`,
      json: choices.chance(0.9)
        ? {
            name,
            groupPattern: choices.one(['CN=a,OU=b', '*,OU=b']),
            roles: choices.some(roleNames.slice(1, 3), 2),
          }
        : choices.one<unknown>([{}, [], { name: 'other' }]),
    }
  }),
  change('DELETE', `${authorization}/groupMappings/:mapping`, 1, (choices) => ({
    path: `${authorization}/groupMappings/${choices.one(mappingNames)}`,
  })),
  change('POST', `${authorization}/groupMappings/:mapping/roles/:role`, 1, (choices) => ({
    path: `${authorization}/groupMappings/${choices.one(mappingNames)}/roles/${choices.one(roleNames.slice(1))}`,
  })),
  change('DELETE', `${authorization}/groupMappings/:mapping/roles/:role`, 1, (choices) => ({
    path: `${authorization}/groupMappings/${choices.one(mappingNames)}/roles/${choices.one(roleNames.slice(1))}`,
  })),
  change('POST', `${overlord}/supervisor/:all`, 0.5, (choices) => ({
    path: `${overlord}/supervisor/${choices.one(['suspendAll', 'resumeAll', 'terminateAll'])}`,
  })),
  change('POST', `${overlord}/task/:task/shutdown`, 0.5, () => ({
    path: `${overlord}/task/nosuch/shutdown`,
  })),
  change('POST', `${overlord}/supervisor/:supervisor`, 1, (choices, state) => ({
    path: `${overlord}/supervisor/${encode(`autocompact__${dataSourceOf(choices, state)}`)}/${choices.one(['suspend', 'resume', 'terminate', 'shutdown'])}`,
  })),
]

/** The kinds of requests; `settled` ones are compared only after both systems have settled. */
export type Kind = 'change' | 'stable' | 'settled'

const endpointsOf: Readonly<Record<Kind, readonly Endpoint[]>> = {
  change: changes,
  stable: stableReads,
  settled: settledReads,
}

// Weights are multiples of 1 divided by this.
const weightParts = 4

/** Returns a random request of a kind. */
export function randomRequest(choices: Choices, state: State, kind: Kind): DifferentialRequest {
  const endpoints = endpointsOf[kind]
  let rest = choices.whole(
    1,
    endpoints.reduce((sum, { weight }) => sum + weightParts * weight, 0),
  )
  const chosen = endpoints.find(({ weight }) => {
    rest -= weightParts * weight
    return rest <= 0
  }) as Endpoint
  const method = chosen.name.slice(0, chosen.name.indexOf(' ')) as DifferentialRequest['method']
  return { endpoint: chosen.name, method, ...chosen.make(choices, state) }
}
