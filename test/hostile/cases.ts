import type { SeededRandom } from '../support/random.ts'
import { type Endpoint, pathThroughRouter } from '../support/route-tables.ts'
import { fittingSize } from './fit-limits.ts'
import { classesOf, type HostileInput, type InputClass } from './input-classes.ts'
import { pairwise } from './pairwise.ts'
import { type StoredState, storedStates } from './stored-states.ts'

/**
 * The sender of a request: nobody, a user without permissions, one with permission on one datasource, or the
 * admin.
 */
export const callers = ['anonymous', 'no permission', 'one datasource', 'admin'] as const
export type Caller = (typeof callers)[number]

/** How a request reaches its server. */
export type Way = 'direct' | 'router'

/** One hostile request. */
export interface HostileCase {
  readonly endpoint: Endpoint
  readonly inputClass: InputClass
  readonly sizeBytes: number
  readonly caller: Caller
  readonly way: Way
  /** How many copies are sent at once (default: 1). */
  readonly copies?: number
  /** What the servers have stored when the request is sent; nothing large by default. */
  readonly stored?: StoredState
}

const KiB = 1024
const MiB = 1024 * KiB
/** Up to this size, every combination is tested; above it, every pair. */
export const maxSmallBytes = 64 * KiB
const smallBodySizes = [KiB, maxSmallBytes]
// Node.js accepts headers of up to 16 KiB, so use almost that size and a larger one.
const headSizes = [KiB, 15 * KiB, maxSmallBytes]

/** The name of a case in reports. */
export function describeCase({ endpoint, inputClass, sizeBytes, caller, way }: HostileCase): string {
  const { role, method, path } = endpoint
  return `${role} ${method} ${path} (${inputClass.name}, ${sizeBytes} bytes, ${caller}, ${way})`
}

const routesTo = (endpoint: Endpoint): readonly Way[] =>
  endpoint.role !== 'router' && pathThroughRouter(endpoint) !== undefined ? ['direct', 'router'] : ['direct']

// More than a thousand records take long to send, because each waits for the previous one.
const recordsBytes = 2 * KiB

function smallSizesOf({ part, name }: InputClass): readonly number[] {
  if (part === 'connection') {
    if (/^pipelined/.test(name)) return [KiB]
    return [/records/.test(name) ? recordsBytes : maxSmallBytes]
  }
  if (part === 'body') return smallBodySizes
  // A name with one hostile character has only one size.
  const hasOneSize = part === 'path' ? !/long/.test(name) : /^login with/.test(name)
  return hasOneSize ? [KiB] : headSizes
}

/** The callers whose requests of a class differ. */
export const callersOf = ({ hasOwnLogin = false }: InputClass): readonly Caller[] =>
  hasOwnLogin ? ['anonymous'] : callers

/**
 * All combinations of up to 64 KiB: every class, size, and caller at the server's own port, and each class
 * and size through the router as one of the callers.
 */
export function smallCases(endpoints: readonly Endpoint[]): HostileCase[] {
  let turn = 0
  return endpoints.flatMap((endpoint) =>
    classesOf(endpoint).flatMap((inputClass) =>
      smallSizesOf(inputClass).flatMap((sizeBytes) => {
        const different = callersOf(inputClass)
        const direct = different.map((caller) => ({
          endpoint,
          inputClass,
          sizeBytes,
          caller,
          way: 'direct' as const,
        }))
        if (routesTo(endpoint).length === 1) return direct
        const caller = different[turn++ % different.length]!
        return [...direct, { endpoint, inputClass, sizeBytes, caller, way: 'router' as const }]
      }),
    ),
  )
}

/**
 * Above 64 KiB, every two values of class, size, caller, and way occur together: all pairs at 1 MiB, and each
 * class once at the limit of the endpoint. At the limit, documents of the endpoint's schema are sent by the
 * admin, because they cost most after the permission check.
 */
export function largeCases(endpoints: readonly Endpoint[]): HostileCase[] {
  return endpoints.flatMap((endpoint) => {
    const { body } = endpoint
    if (!body) return []
    const classes = classesOf(endpoint).filter(({ part }) => part === 'body')
    const ways = routesTo(endpoint)
    const middleBytes = Math.min(MiB, body.limitBytes)
    // By class, because the body is the same for each caller.
    const rows = pairwise([classes, callers, ways]).sort(([left], [right]) => left! - right!)
    const pairs = rows.map(([inputClass, caller, way]) => ({
      endpoint,
      inputClass: classes[inputClass!]!,
      sizeBytes: middleBytes,
      caller: callers[caller!]!,
      way: ways[way!]!,
    }))
    const atLimit = classes.map((inputClass, index) => ({
      endpoint,
      inputClass,
      sizeBytes: body.limitBytes,
      caller: inputClass.isShaped ? ('admin' as const) : callers[index % callers.length]!,
      way: ways[index % ways.length]!,
    }))
    const overLimit = callers.map((caller, index) => ({
      endpoint,
      inputClass: classes[index]!,
      sizeBytes: body.limitBytes + 1024,
      caller,
      way: ways[index % ways.length]!,
    }))
    return [...pairs, ...(body.limitBytes > middleBytes ? atLimit : []), ...overLimit].filter(
      ({ sizeBytes }) => sizeBytes > maxSmallBytes,
    )
  })
}

/**
 * Each of these classes, sent by the admin, just within the limits of values, names, and depth: the server
 * rejects a larger one before it parses it. Empty if the endpoint limits only bytes.
 */
function casesWithinLimits(endpoint: Endpoint, classes: readonly InputClass[]): HostileCase[] {
  const ways = routesTo(endpoint)
  return classes.flatMap((inputClass, index) => {
    const sizeBytes = fittingSize(inputClass, endpoint)
    if (sizeBytes === undefined || sizeBytes === endpoint.body?.limitBytes) return []
    return [{ endpoint, inputClass, sizeBytes, caller: 'admin', way: ways[index % ways.length]! }]
  })
}

/** Each class of body just within the limits of its endpoint. */
export function fittingCases(endpoints: readonly Endpoint[]): HostileCase[] {
  return endpoints.flatMap((endpoint) => casesWithinLimits(endpoint, classesOf(endpoint)))
}

// Not the endpoints that every server has.
const ownPath = /^\/svc\/(coordinator|indexer)\//

// Enough to take several times as long as one, and few enough for some seconds.
const pipelinedHistories = 20

const storedClass = (name: string, input: HostileInput): InputClass => ({
  part: 'stored',
  name,
  isShaped: false,
  build: () => input,
})

/**
 * Ordinary GET requests to the coordinator and the overlord while the servers have stored something large, one group for each
 * kind: requests without parameters, and with each of their query parameters. Long histories are also requested several times at
 * once.
 */
export function storedCases(endpoints: readonly Endpoint[]): HostileCase[][] {
  const read = endpoints.filter(
    ({ role, method, path }) =>
      method === 'GET' && (role === 'coordinator' || role === 'overlord') && ownPath.test(path),
  )
  return storedStates.map((stored) =>
    read.flatMap((endpoint) => {
      const parameters = Object.keys((endpoint.query?.properties ?? {}) as object)
      const isHistory = stored === 'long histories' && endpoint.path.endsWith('/history')
      const classes = [
        storedClass(`${stored} stored`, {}),
        ...parameters.map((name) =>
          storedClass(`${stored} stored and parameter ${name}`, { query: `${name}=1` }),
        ),
        ...(isHistory
          ? [storedClass(`${stored} stored, pipelined`, { manner: 'pipelined', count: pipelinedHistories })]
          : []),
      ]
      return classes.map((inputClass): HostileCase => {
        const caller = isOfOneDatasource(endpoint) ? 'one datasource' : 'admin'
        return { endpoint, inputClass, sizeBytes: 0, caller, way: 'direct', stored }
      })
    }),
  )
}

/** Whether a user with one datasource may use the endpoint. */
const isOfOneDatasource = ({ path }: Endpoint): boolean =>
  path.includes(':dataSource') && !path.startsWith('/svc/coordinator/v1/config/')

/** Shuffles the elements with the seed. */
export function shuffled<Element>(elements: readonly Element[], random: SeededRandom): Element[] {
  const mixed = [...elements]
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = Math.floor(random.next() * (last + 1))
    ;[mixed[last], mixed[other]] = [mixed[other]!, mixed[last]!]
  }
  return mixed
}

/** Returns one of the stored cases of each endpoint and kind. */
export function sampleStoredCases(endpoints: readonly Endpoint[], random: SeededRandom): HostileCase[][] {
  return storedCases(endpoints).map((cases) => [
    ...new Map(shuffled(cases, random).map((one) => [one.endpoint, one] as const)).values(),
  ])
}

/**
 * The number of cases of its own schema that a sample has for each endpoint with a body: up to 64 KiB, within
 * its limits, and above 64 KiB.
 */
const shapedOfEndpoint = { small: 2, fitting: 1, large: 1 } as const
const maxSampleBytes = MiB

/**
 * Returns a sample: each endpoint with one class of each of its parts, each class that all endpoints share at
 * least once, some classes of each schema, above 64 KiB some of up to 1 MiB, and each server with each class of connection.
 */
export function sampleCases(endpoints: readonly Endpoint[], random: SeededRandom): HostileCase[] {
  const chosen: HostileCase[] = []
  const openClasses = new Set<string>()
  const take = (candidates: readonly HostileCase[], count: number): void => {
    // Prefer classes that the sample does not have yet.
    const fresh = candidates.filter(({ inputClass }) => openClasses.has(inputClass.name))
    for (const one of [...fresh, ...candidates].slice(0, count)) {
      openClasses.delete(one.inputClass.name)
      chosen.push(one)
    }
  }
  const shared = (one: HostileCase): boolean =>
    !one.inputClass.isShaped &&
    one.inputClass.part !== 'connection' &&
    !/^parameter /.test(one.inputClass.name)
  const casesOf = new Map(
    endpoints.map((endpoint) => [endpoint, shuffled(smallCases([endpoint]), random)] as const),
  )
  for (const cases of casesOf.values())
    for (const one of cases) if (shared(one)) openClasses.add(one.inputClass.name)
  for (const [endpoint, cases] of casesOf) {
    for (const part of ['body', 'query', 'headers', 'path'] as const)
      take(
        cases.filter((one) => one.inputClass.part === part && !one.inputClass.isShaped),
        1,
      )
    if (!endpoint.body) continue
    take(
      cases.filter(({ inputClass }) => inputClass.isShaped),
      shapedOfEndpoint.small,
    )
    const shaped = shuffled(
      classesOf(endpoint).filter(({ isShaped }) => isShaped),
      random,
    )
    const fitting = casesWithinLimits(endpoint, shaped.slice(0, shapedOfEndpoint.fitting))
    chosen.push(...fitting.filter(({ sizeBytes }) => sizeBytes <= maxSampleBytes))
    const large = largeCases([endpoint]).filter(({ sizeBytes }) => sizeBytes <= maxSampleBytes)
    take(shuffled(large, random), shapedOfEndpoint.large)
  }
  const connections = [...casesOf.values()]
    .flat()
    .filter(({ inputClass }) => inputClass.part === 'connection')
  const byServer = new Map(
    shuffled(connections, random).map((one) => [`${one.endpoint.role} ${one.inputClass.name}`, one] as const),
  )
  chosen.push(...byServer.values())
  return chosen
}
