import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { ClusterAccess, ClusterClient, Login } from '../client/index.ts'
import { existingHome, withHome } from './home-option.ts'
import { credentialsOf, type LoginOptions, trustedOf, withLogin } from './login-options.ts'

/** Which cluster a command talks to over HTTP, and as which user. */
export interface ConnectionOptions extends LoginOptions {
  readonly home?: string
  readonly url?: string
}

/** Adds the options of `accessOf`. */
export function withConnection(command: Command): Command {
  return withUrl(command, 'URL of the router of another cluster (svc or Druid), instead of a home')
}

/** Adds the options of `accessOf` to a command that needs endpoints which Druid does not have. */
export function withSvcConnection(command: Command): Command {
  return withUrl(command, 'URL of the router of another svc cluster, instead of a home')
}

function withUrl(command: Command, meaning: string): Command {
  return withLogin(withHome(command).option('--url <url>', meaning))
}

/** The login of a command, and the certificates that it trusts. */
export const loginOf = (options: LoginOptions): Login => ({
  credentials: credentialsOf(options),
  trusted: trustedOf(options),
})

/** How to reach the cluster of a command: the one at a URL, or the one of the home. Throws a Failure if there is none. */
export async function accessOf(options: ConnectionOptions): Promise<ClusterAccess> {
  const { url, home } = options
  if (url !== undefined && home !== undefined)
    throw invalidInput('Options --home and --url cannot be combined')
  const { accessToCluster, accessToUrl } = await import('../client/index.ts')
  const login = loginOf(options)
  return url === undefined ? accessToCluster(existingHome(home), login) : await accessToUrl(url, login)
}

/** A client of the cluster of a command. Throws a Failure if there is none. */
export async function connect(options: ConnectionOptions): Promise<ClusterClient> {
  const { clientOf } = await import('../client/index.ts')
  return clientOf(await accessOf(options))
}
