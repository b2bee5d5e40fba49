import { parseArgs } from 'node:util'
import { describeError } from '@svc/domain/failure'
import { ConfigurationError, loadSettings, type Role, type Settings } from '../config/index.ts'
import { findPortProblems } from '../http/index.ts'
import { loadTlsStores, type TlsStores } from '../tls/index.ts'
import { saveLastProblem } from './server-problems.ts'

interface Arguments {
  readonly files: readonly string[]
  /** Print the endpoints and exit. */
  readonly listRoutes: boolean
}

/** The configuration of a server. */
export interface Configuration {
  readonly settings: Settings
  readonly listRoutes: boolean
  readonly tlsStores: TlsStores
  /** Reads the current properties again. */
  reread(): Settings
}

/** Reads properties and stores. Reports all problems, including those of ports, at once. */
export async function readConfiguration(role: Role): Promise<Configuration> {
  const { files, listRoutes } = readArguments(role)
  const { settings, problems, faulty } = readProperties(role, files)
  const loaded = await loadTlsStores(settings, Date.now(), faulty)
  if (problems.length === 0 && loaded.kind === 'loaded')
    return {
      settings,
      listRoutes,
      tlsStores: loaded.stores,
      reread: () => loadSettings(role, files, process.env),
    }
  const ofStores = loaded.kind === 'faulty' ? loaded.problems : []
  const ofPorts = await findPortProblems(settings, faulty)
  const { message } = new ConfigurationError([...problems, ...ofStores, ...ofPorts])
  process.stderr.write(`${message}\n`)
  const isStoreKnown = ![...faulty].some((name) => name.startsWith('svc.metadata.'))
  if (isStoreKnown && ofStores.length > 0)
    await saveLastProblem(
      settings,
      {
        role: settings.role,
        name: configuredName(settings),
      },
      ofStores.join('; '),
    )
  process.exit(1)
}

function readProperties(role: Role, files: readonly string[]) {
  try {
    const settings = loadSettings(role, files, process.env)
    return { settings, problems: [], faulty: new Set<string>() }
  } catch (error) {
    if (error instanceof ConfigurationError && error.readable)
      return { ...error.readable, problems: error.problems }
    return exitWithMessage(describeError(error))
  }
}

function readArguments(role: Role): Arguments {
  try {
    const { values } = parseArgs({
      options: {
        common: { type: 'string' },
        runtime: { type: 'string' },
        routes: { type: 'boolean', default: false },
        help: { type: 'boolean' },
      },
    })
    if (values.help) {
      process.stdout.write(usageOf(role))
      process.exit(0)
    }
    const files = [values.common, values.runtime].filter((file) => file !== undefined)
    return { files, listRoutes: values.routes }
  } catch (error) {
    return exitWithMessage(describeError(error))
  }
}

const usageOf = (role: Role): string => `Usage: main.ts [--common FILE] [--runtime FILE] [--routes]

Run the ${role} of a cluster. The configuration comes from two properties files and from environment variables such as svc_tlsPort.
With --routes, print the endpoints of the ${role} and their access rules as JSON, then exit.
`

/** Exits with a message but without a stack trace: an invalid configuration is not a crash. */
export function exitWithMessage(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

/** Returns the name of a server, unless it uses port 0: the name is then known only once its ports are open. */
export function configuredName(settings: Settings): string {
  const port = settings.get(settings.get('svc.enableTlsPort') ? 'svc.tlsPort' : 'svc.plaintextPort')
  return `${settings.get('svc.host')}:${port}`
}
