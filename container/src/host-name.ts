import { lookup, Resolver } from 'node:dns/promises'
import { hostname, networkInterfaces } from 'node:os'

/** What a host name stands for in the environment of a container. */
const PLACEHOLDER = '{host}'

/**
 * The name by which the other containers reach this one. It is the container's own name, such as svc-historical-2, which a
 * replica keeps when it is started again and which the engine's name server tells; where there is none, the host name.
 */
export async function ownHostName(): Promise<string> {
  const addresses = Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address)
  for (const address of addresses) {
    // The resolver itself: the lookup by address reads /etc/hosts first, which knows another name.
    const found = await new Resolver().resolvePtr(reverseName(address)).catch(() => [])
    for (const name of found.map(withoutNetwork)) {
      const back = await lookup(name, { family: 4 }).catch(() => undefined)
      if (back?.address === address) return name
    }
  }
  return hostname()
}

/** The name under which the domain name system keeps the names of an address (RFC 1035 §3.5). */
export function reverseName(address: string): string {
  return `${address.split('.').reverse().join('.')}.in-addr.arpa`
}

/** The container of `svc-historical-2.svc_default`: Compose puts no dot into the names that it makes. */
export function withoutNetwork(name: string): string {
  return name.split('.', 1)[0]!
}

/** The properties of an environment, with the host name in place of `{host}`. */
export function withHostName(environment: NodeJS.ProcessEnv, host: string): Record<string, string> {
  const properties = Object.entries(environment).filter(([name]) => name.startsWith('svc_'))
  return Object.fromEntries(properties.map(([name, value]) => [name, value!.replaceAll(PLACEHOLDER, host)]))
}
