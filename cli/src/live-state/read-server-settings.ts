import { Failure } from '@svc/domain/failure'
import { loadSettings } from '@svc/shared/config'
import type { ClusterClient } from '../client/index.ts'

/** The properties of a cluster that decide which users and passwords it accepts. */
export interface ServerSettings {
  /** The user as which servers call each other. */
  readonly internalUser: string
  /** Whether users of an LDAP directory may log in, who get roles through their groups. */
  readonly hasDirectory: boolean
  /** Whether the cluster checks administrators like Druid, for which permission to write every configuration is enough. */
  readonly checksLikeDruid: boolean
  /** Characters. Druid accepts passwords of any length. */
  readonly minPasswordLength: number
}

// Every Druid cluster sets it. This is the name in Druid's documentation.
const druidInternalUser = 'druid_system'

/** Reads properties of the coordinator. Those that the user may not read have their defaults. */
export async function readServerSettings(client: ClusterClient): Promise<ServerSettings> {
  const name = client.interfaceName
  const readable = await client
    .send('GET', '/proxy/coordinator/status/properties')
    .then((answer) => answer as Readonly<Record<string, string>>)
    .catch((error: unknown) => {
      if (!(error instanceof Failure) || !['forbidden', 'notFound'].includes(error.code)) throw error
      return {}
    })
  const properties: Readonly<Record<string, string>> = {
    ...loadSettings('coordinator', [], {}).list(),
    ...readable,
  }
  return {
    internalUser: properties[`${name}.escalator.internalClientUsername`] ?? druidInternalUser,
    hasDirectory: Object.entries(properties).some(
      ([property, value]) => property.endsWith('.credentialsValidator.type') && value === 'ldap',
    ),
    checksLikeDruid: name === 'druid',
    minPasswordLength: name === 'druid' ? 1 : Number(properties['svc.auth.credentials.minLength']),
  }
}
