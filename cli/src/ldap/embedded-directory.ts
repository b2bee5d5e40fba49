import { timingSafeEqual } from 'node:crypto'
import type ldap from 'ldapjs'

/** One entry: its name and its attributes. */
export interface DirectoryEntry {
  readonly dn: string
  readonly attributes: Readonly<Record<string, readonly string[]>>
  /** The password to bind as this entry; undefined for an entry that is not a user. */
  readonly password?: string | undefined
}

/** The contents of a directory; only the bind user may search. */
export interface DirectoryContent {
  readonly suffix: string
  readonly bindDn: string
  readonly bindPassword: string
  readonly entries: readonly DirectoryEntry[]
}

/** A running directory. */
export interface EmbeddedDirectory {
  readonly url: string
  stop(): Promise<void>
}

// Parts of the library that are missing from its own types.
interface BindRequest {
  readonly dn: ldap.DN
  readonly credentials: string
}
interface SearchRequest {
  readonly dn: ldap.DN & { parentOf(dn: ldap.DN): boolean }
  readonly scope: string | number
  readonly filter: SearchFilter
  readonly connection: { readonly ldap: { readonly bindDN?: ldap.DN } }
}
interface SearchFilter {
  readonly type: string
  readonly attribute?: string
  readonly value?: string
  readonly clauses?: readonly SearchFilter[]
}
interface SearchResponse {
  attributes: readonly string[]
  send(entry: { readonly dn: string; readonly attributes: Record<string, readonly string[]> }): void
  end(): void
}
type Next = (error?: unknown) => void

/** Starts a read-only directory on 127.0.0.1; port 0 selects a free one. */
export async function startDirectory(content: DirectoryContent, port: number): Promise<EmbeddedDirectory> {
  // Loaded here, because planning a cluster does not need it.
  const { default: library } = await import('ldapjs')
  const server = library.createServer()
  const normal = (dn: string): string => library.parseDN(dn).toString().toLowerCase()
  const passwords = new Map(content.entries.map(({ dn, password }) => [normal(dn), password] as const))
  passwords.set(normal(content.bindDn), content.bindPassword)

  server.bind('', (request: BindRequest, response: SearchResponse, next: Next) => {
    const password = passwords.get(request.dn.toString().toLowerCase())
    const given = String(request.credentials)
    // An unknown name is rejected like a wrong password. RFC 4513 5.1.2: an empty password authenticates nobody.
    if (password === undefined || given === '' || !isSame(password, given)) {
      next(new library.InvalidCredentialsError())
      return
    }
    response.end()
    next()
  })
  server.search(content.suffix, (request: SearchRequest, response: SearchResponse, next: Next) => {
    if (request.connection.ldap.bindDN?.toString().toLowerCase() !== normal(content.bindDn)) {
      next(new library.InsufficientAccessRightsError())
      return
    }
    // Sends all attributes, because the library drops requested ones whose names contain capital letters.
    response.attributes = []
    for (const { dn, attributes } of content.entries) {
      const parsed = library.parseDN(dn)
      const isBase = request.scope === 'base' || request.scope === 0
      const inScope = request.dn.equals(parsed) || (!isBase && request.dn.parentOf(parsed))
      if (inScope && matches(request.filter, lowerCaseNames(attributes))) response.send({ dn, attributes })
    }
    response.end()
    next()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  // The library closes the connection after a request that it cannot parse, such as a search for names with brackets.
  server.on('error', () => undefined)
  return {
    url: `ldap://127.0.0.1:${new URL(server.url.replace('ldap', 'http')).port}`,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

function lowerCaseNames(attributes: DirectoryEntry['attributes']): Record<string, readonly string[]> {
  return Object.fromEntries(Object.entries(attributes).map(([name, values]) => [name.toLowerCase(), values]))
}

/** Whether an entry matches: by case-insensitive equality, as directories compare these attributes. */
function matches(filter: SearchFilter, attributes: Readonly<Record<string, readonly string[]>>): boolean {
  const clauses = filter.clauses ?? []
  const values = attributes[filter.attribute?.toLowerCase() ?? ''] ?? []
  switch (filter.type) {
    case 'AndFilter':
      return clauses.every((clause) => matches(clause, attributes))
    case 'OrFilter':
      return clauses.some((clause) => matches(clause, attributes))
    case 'NotFilter':
      return !clauses.some((clause) => matches(clause, attributes))
    case 'PresenceFilter':
      return values.length > 0
    case 'EqualityFilter':
      return values.some((value) => value.toLowerCase() === String(filter.value).toLowerCase())
    default:
      return false
  }
}

function isSame(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)]
  return one.length === other.length && timingSafeEqual(one, other)
}
