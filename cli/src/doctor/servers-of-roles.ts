import path from 'node:path'
import { type Configuration, type Server, textOf } from './configuration.ts'

/** The roles that a cluster has by default, with the services of Druid whose properties they get. */
const servicesOfRoles = {
  router: ['router'],
  coordinator: ['coordinator'],
  overlord: ['overlord', 'coordinator'],
  broker: ['broker'],
  historical: ['historical'],
} as const

/** A role of a server. */
export type ServerRole = keyof typeof servicesOfRoles

/** Returns the server of each role; a role without one has the properties of the common file. */
export function serversOfRoles(configuration: Configuration): Readonly<Record<ServerRole, Server>> {
  const { servers } = configuration
  const serviceOf = (server: Server) => (textOf(server, 'druid.service') ?? server.name).split('/').at(-1)
  return Object.fromEntries(
    Object.entries(servicesOfRoles).map(([role, services]) => {
      const found = services.flatMap((service) => servers.filter((server) => serviceOf(server) === service))
      return [role, found[0] ?? commonServer(configuration)]
    }),
  ) as Record<ServerRole, Server>
}

/** A server without properties of its own. */
function commonServer({ servers, commonFile }: Configuration): Server {
  const properties = servers.flatMap((server) =>
    [...server.properties.values()].filter(({ file }) => file === commonFile),
  )
  return {
    name: path.dirname(commonFile),
    file: commonFile,
    properties: new Map(properties.map((property) => [property.name, property])),
  }
}
