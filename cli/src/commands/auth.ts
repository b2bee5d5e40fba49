import type { RefusedRequest } from '@svc/domain/access'
import { Failure, invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { PresentDecision, RefusalSource } from '../access-explanation/index.ts'
import { exitStatus } from '../exit/index.ts'
import {
  type ConnectionOptions,
  collect,
  connect,
  existingHome,
  loginOf,
  withSvcConnection,
} from '../options/index.ts'
import { printJson } from '../output/index.ts'

interface ExplainOptions extends ConnectionOptions {
  readonly method?: string
  readonly authorizer?: string
  readonly group?: readonly string[]
  readonly request?: string
  readonly handshake?: string | true
  readonly json?: boolean
}

/** Adds `./svc auth` with its commands. */
export function addAuth(program: Command): void {
  const auth = program.command('auth').description('Explain who may do what in a running cluster')
  withSvcConnection(
    auth
      .command('explain')
      .description(
        'Explain why a user is or is not allowed to make a request, or why a request or handshake was refused',
      ),
  )
    .argument('[user]', 'User name')
    .argument('[path]', 'Request path, for example /svc/coordinator/v1/rules/flights')
    .option('--method <name>', 'HTTP method: GET, POST, PUT, or DELETE (default: GET)')
    .option('--authorizer <name>', "Authorizer to use (default: the user's authorizer)")
    .option('--group <dn>', 'Directory group of the user (repeatable)', collect)
    .option(
      '--request <id>',
      'ID of a refused request: the X-Request-Id header of the response, or the requestId in a log',
    )
    .option(
      '--handshake [id]',
      'ID of a refused TLS handshake: the handshakeId in a log (default: list the latest ones)',
    )
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Each server keeps the last 1,000 refused requests and the last 1,000 refused handshakes until it stops.

Exit status: 0 if the request is allowed or the decision depends on its content, 4 if it is denied. With the ID of a refused
request or handshake, the status is 4 even if it would be accepted now.

Examples:
  ./svc auth explain carol /svc/coordinator/v1/rules/flights --method POST
  ./svc auth explain bob /status --group cn=analysts,ou=groups,dc=example,dc=org
  ./svc auth explain --request 6ae9b2c4-0d7a-4a52-9a3c-2f6c1de0a7d1
  ./svc auth explain --handshake`,
    )
    .action(async (user: string | undefined, path: string | undefined, options: ExplainOptions) => {
      const { request, handshake } = options
      const isAboutRefusal = request !== undefined || handshake !== undefined
      if (isAboutRefusal && (user !== undefined || (request !== undefined && handshake !== undefined)))
        throw invalidInput('Expected exactly one of: a user and a path, --request, or --handshake')
      assertUsed(options)
      if (handshake !== undefined) return await explainHandshake(handshake, options)
      if (request !== undefined) return await explainRequest(request, options)
      if (user === undefined || path === undefined)
        throw invalidInput('Missing user or path: expected both, or --request or --handshake instead')
      await explainUser(user, path, options)
    })
}

/** Throws invalidInput if an option has no effect: a refused request has a method, and a handshake has no user. */
function assertUsed({ request, handshake, ...options }: ExplainOptions): void {
  const about = handshake !== undefined ? '--handshake' : '--request'
  const ignored = (
    ['method', ...(about === '--handshake' ? (['authorizer', 'group'] as const) : [])] as const
  ).find((name) => options[name] !== undefined)
  if ((request ?? handshake) !== undefined && ignored !== undefined)
    throw invalidInput(`Option --${ignored} has no effect with ${about}: leave it out`)
}

async function explainUser(user: string, path: string, options: ExplainOptions): Promise<void> {
  const method = (options.method ?? 'GET').toUpperCase()
  if (!['GET', 'POST', 'PUT', 'DELETE'].includes(method))
    throw invalidInput(`Invalid value [${options.method}] for [--method]: expected GET, POST, PUT, or DELETE`)
  const client = await connect(options)
  const { explainAccess, explanationText } = await import('../access-explanation/index.ts')
  const { authorizer, group: groups = [], json } = options
  const explanation = await explainAccess(client, { user, path, method, authorizer, groups })
  if (json) printJson(explanation)
  else process.stdout.write(explanationText(explanation))
  process.exitCode = explanation.allowed === false ? exitStatus.refused : exitStatus.done
}

/** Explains a refused request: why it was refused, and what the cluster decides about such a request now. */
async function explainRequest(id: string, options: ExplainOptions): Promise<void> {
  const { refusedRequests, refusedRequestText } = await import('../access-explanation/index.ts')
  const [refused] = await refusedRequests(await refusalSource(options), id)
  const now = await decideNow(refused!, options)
  if (options.json) printJson({ refused: refused!, ...now })
  else process.stdout.write(refusedRequestText(refused!, now))
  process.exitCode = exitStatus.refused
}

async function decideNow(
  { user, path, method }: RefusedRequest,
  options: ExplainOptions,
): Promise<PresentDecision> {
  if (user === '') return { missing: 'without a user name, there is nothing else to explain' }
  const { explainAccess } = await import('../access-explanation/index.ts')
  const { authorizer, group: groups = [] } = options
  const request = { user, path, method: method === 'HEAD' ? 'GET' : method, authorizer, groups }
  try {
    return { explanation: await explainAccess(await connect(options), request) }
  } catch (error) {
    // The recorded reason is worth showing even if the cluster cannot explain such a request now.
    if (error instanceof Failure) return { missing: error.message }
    throw error
  }
}

/** Explains a refused handshake, or lists the last ones. */
async function explainHandshake(id: string | true, options: ExplainOptions): Promise<void> {
  const { handshakesText, handshakeText, refusedHandshakes } = await import('../access-explanation/index.ts')
  const found = await refusedHandshakes(await refusalSource(options), id === true ? undefined : id)
  if (options.json) printJson(id === true ? found : found[0]!)
  else process.stdout.write(id === true ? handshakesText(found) : handshakeText(found[0]!))
  if (id !== true) process.exitCode = exitStatus.refused
}

/** The servers of the home, or those behind the router at the URL. */
async function refusalSource(options: ExplainOptions): Promise<RefusalSource> {
  return options.url === undefined
    ? { home: existingHome(options.home), login: loginOf(options) }
    : { client: await connect(options) }
}
