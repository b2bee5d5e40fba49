import { lookup, Resolver } from 'node:dns/promises'
import { hostname, networkInterfaces } from 'node:os'

/** Replaced by the host name in the environment of a container. */
const placeholder = '{host}'

/**
 * The name by which other containers reach this one: the name of the container, for example svc-historical-2, which a
 * replica keeps across restarts and which Docker's DNS server returns. If there is none, the host name.
 */
export async function ownHostName(): Promise<string> {
  const addresses = Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address)
  for (const address of addresses) {
    // Queries DNS directly: a reverse lookup would read /etc/hosts first, which has a different name.
    const found = await new Resolver().resolvePtr(reverseName(address)).catch(() => [])
    for (const name of found.map(withoutNetwork)) {
      const back = await lookup(name, { family: 4 }).catch(() => undefined)
      if (back?.address === address) return name
    }
  }
  return hostname()
}

/** The reverse DNS name of an address (RFC 1035 §3.5). */
export function reverseName(address: string): string {
  return `${address.split('.').reverse().join('.')}.in-addr.arpa`
}

/** `svc-historical-2` for `svc-historical-2.svc_default`: names that Compose creates contain no dots. */
export function withoutNetwork(name: string): string {
  return name.split('.', 1)[0]!
}

/** The properties in an environment, with `{host}` replaced by the host name. */
export function withHostName(environment: NodeJS.ProcessEnv, host: string): Record<string, string> {
  const properties = Object.entries(environment).filter(([name]) => name.startsWith('svc_'))
  return Object.fromEntries(properties.map(([name, value]) => [name, value!.replaceAll(placeholder, host)]))
}
