import { readFileSync } from 'node:fs'
import type { StartOptions } from '@svc/cli/cluster'
import { describeError, invalidInput } from '@svc/domain/failure'

/** What the environment variables of the container can set, apart from properties. */
export type ContainerOptions = Pick<
  StartOptions,
  'adminPassword' | 'certificateHosts' | 'historicals' | 'instances' | 'profile' | 'set'
>

const variables = [
  'SVC_ADMIN_PASSWORD',
  'SVC_ADMIN_PASSWORD_FILE',
  'SVC_HOSTS',
  'SVC_HISTORICALS',
  'SVC_INSTANCES',
  'SVC_PROFILE',
] as const
type Variable = (typeof variables)[number]

// Kubernetes sets these in all pods if there is a service with the name `svc`.
const variablesOfKubernetes = /^SVC_(SERVICE|PORT)(_|$)/

/**
 * Returns the options of a cluster in one container, from its environment variables; the values are those of the options of
 * `svc up`. Throws a Failure about an unknown variable, an invalid value, or a password file that cannot be read.
 */
export function readContainerOptions(environment: NodeJS.ProcessEnv): ContainerOptions {
  const unknown = Object.keys(environment).find(
    (name) =>
      name.startsWith('SVC_') && !variables.includes(name as Variable) && !variablesOfKubernetes.test(name),
  )
  if (unknown !== undefined)
    throw invalidInput(`Unknown environment variable [${unknown}]: expected one of [${variables.join(', ')}]`)
  const read = (name: Variable): string | undefined => environment[name] || undefined
  return {
    adminPassword: readAdminPassword(read('SVC_ADMIN_PASSWORD'), read('SVC_ADMIN_PASSWORD_FILE')),
    certificateHosts: readHosts(read('SVC_HOSTS')),
    historicals: read('SVC_HISTORICALS'),
    instances: read('SVC_INSTANCES'),
    profile: read('SVC_PROFILE'),
    // Docker publishes ports of the container's own address, so servers listen on all addresses.
    set: ['svc.bindOnHost=false'],
  }
}

function readHosts(text = ''): string[] {
  const hosts = text === '' ? [] : text.split(',')
  const invalid = hosts.find((host) => !/^[A-Za-z0-9.:_-]{1,253}$/.test(host))
  if (invalid !== undefined)
    throw invalidInput(
      `Invalid value [${text}] for [SVC_HOSTS]: expected comma-separated host names and addresses`,
    )
  return hosts
}

function readAdminPassword(password: string | undefined, file: string | undefined): string | undefined {
  if (file === undefined) return password
  if (password !== undefined)
    throw invalidInput('SVC_ADMIN_PASSWORD and SVC_ADMIN_PASSWORD_FILE cannot both be set')
  try {
    return readFileSync(file, 'utf8').trimEnd()
  } catch (error) {
    throw invalidInput(
      `Failed to read the file [${file}] given in SVC_ADMIN_PASSWORD_FILE: ${describeError(error)}`,
    )
  }
}
