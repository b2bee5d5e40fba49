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

/** Returns the server of each role; a role without one has the properties of the first server. */
export function serversOfRoles({ servers }: Configuration): Readonly<Record<ServerRole, Server>> {
  const serviceOf = (server: Server) => (textOf(server, 'druid.service') ?? server.name).split('/').at(-1)
  return Object.fromEntries(
    Object.entries(servicesOfRoles).map(([role, services]) => {
      const found = services.flatMap((service) => servers.filter((server) => serviceOf(server) === service))
      return [role, found[0] ?? servers[0]]
    }),
  ) as Record<ServerRole, Server>
}
