import { type Failure, forbidden, invalidInput } from '@svc/domain/failure'
import { refuse } from '@svc/domain/validation'

/** What the paths of a management interface start with: `svc`, or `druid` for Apache Druid. */
export type InterfaceName = 'svc' | 'druid'

const leaderPath = '/coordinator/v1/leader'

// Druid has no endpoint for these. It would store a preview of rules as the rules of a datasource named simulate.
const onlySvc = [
  /^\/svc\/(simulation|internal)\//,
  /^\/svc\/coordinator\/v1\/(clusterState|rules\/simulate)\b/,
  /\/explain\b/,
]

/**
 * Returns which interface a router has, according to the statuses with which it answers `statusOf` two paths. Throws
 * invalidInput if it has neither.
 */
export async function findInterface(
  routerUrl: string,
  statusOf: (path: string) => Promise<number>,
): Promise<InterfaceName> {
  const svc = await statusOf(`/svc${leaderPath}`)
  if (svc === 200) return 'svc'
  const druid = await statusOf(`/druid${leaderPath}`)
  if (druid === 200) return 'druid'
  // A missing permission or an unavailable coordinator still shows that the path exists.
  if (svc !== 404) return 'svc'
  if (druid !== 404) return 'druid'
  throw notRouter(routerUrl, ". Druid's router needs druid.router.managementProxy.enabled=true")
}

/** The Failure for the URL of a server that is not a router. */
const notRouter = (url: string, advice = ''): Failure =>
  invalidInput(
    `The server at [${url}] is not a router: this command needs the URL of the cluster's router${advice}.`,
  )

/** Throws invalidInput if a server, which lacks a path that a command needs, is not a router. */
export async function checkRouter(
  routerUrl: string,
  name: InterfaceName,
  statusOf: (path: string) => Promise<number>,
): Promise<void> {
  if ((await statusOf(`/${name}/router/v1/brokers`)) === 404) throw notRouter(routerUrl)
}

/** Whether an error says that a server does not have a path. Druid's servers return an HTML page instead of a message. */
export const isMissingPath = (status: number, message: string | undefined): boolean =>
  status === 404 && (message === undefined || /^Path \[.*\] does not exist$/.test(message))

/** The path at a cluster for a path of svc. Throws forbidden if Druid does not have it. */
export function pathAt(name: InterfaceName, routerUrl: string, path: string): string {
  if (name === 'svc') return path
  if (onlySvc.some((pattern) => pattern.test(path))) throw unsupportedByDruid(routerUrl)
  return path.replace(/^(\/proxy\/[a-z]+)?\/svc(?=[/-])/, '$1/druid')
}

const toImport = 'Import the cluster with ./svc import, and run the command on the imported cluster.'

/** The Failure for a command that a Druid cluster does not support, with what to do instead. */
export const unsupportedByDruid = (routerUrl: string, advice = toImport): Failure =>
  forbidden(
    `Druid does not support this command, and [${routerUrl}] is the router of a Druid cluster. ${advice}`,
  )

/** The headers at a cluster for headers of svc. Throws invalidInput if the cluster cannot read a value. */
export function headersAt(
  name: InterfaceName,
  headers: Readonly<Record<string, string>>,
): Record<string, string> {
  const entries = Object.entries(headers)
  return Object.fromEntries(
    name === 'svc'
      ? entries.map(([header, value]) => [header, utf8Header(value)])
      : entries.map(([header, value]) => druidHeader(header.replace(/^X-Svc-/, 'X-Druid-'), value)),
  )
}

/** Returns the value that a server of svc reads as this text. Node.js sends values as Latin-1. */
const utf8Header = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

function druidHeader(header: string, value: string): [string, string] {
  if (/^[\x20-\xff]*$/.test(value)) return [header, value]
  throw refuse(header, value, 'only Latin-1 characters, because Druid cannot read others in headers')
}
