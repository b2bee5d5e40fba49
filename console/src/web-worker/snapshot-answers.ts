import type { CompleteInventory } from '@svc/domain/preview'
import { formatRule } from '@svc/domain/rules'
import { formatInstant } from '@svc/domain/time'
import type { LocalAnswer } from './messages.ts'

/** The part of the API that the page needs to show a snapshot. Nothing can be changed. */
export class SnapshotAnswers {
  private readonly inventory: CompleteInventory
  private readonly usedBytes: readonly number[]

  constructor(inventory: CompleteInventory) {
    this.inventory = inventory
    const used = inventory.servers.map(() => 0)
    for (const { segments } of inventory.datasources) {
      for (let index = 0; index < segments.count; index += 1)
        segments.forEachCopy(index, (server) => {
          used[server]! += segments.sizeBytes(index)
        })
    }
    this.usedBytes = used
  }

  /** Answers a request like a router. Paths that a snapshot has no data for have status 404. */
  answer(method: string, path: string): LocalAnswer {
    const { pathname, searchParams } = new URL(path, 'https://snapshot')
    const json = method === 'GET' ? this.json(pathname, searchParams) : undefined
    return json === undefined
      ? { status: 404, body: JSON.stringify({ errorMessage: 'A snapshot does not contain this.' }) }
      : { status: 200, body: JSON.stringify(json) }
  }

  private json(path: string, query: URLSearchParams): unknown {
    // A snapshot has no audit log. A datasource with the name `history` is encoded as `%68istory`.
    if (/^\/svc\/coordinator\/v1\/rules(\/[^/]+)?\/history$/.test(path)) return []
    const rules = /^\/svc\/coordinator\/v1\/rules\/(?<name>[^/]+)$/.exec(path)?.groups
    if (rules !== undefined) return this.rules(decodeURIComponent(rules.name!), query.has('full'))
    switch (path) {
      case '/svc/router/v1/caller':
        return {
          identity: '',
          state: readOnly,
          config: readOnly,
          security: { read: false, write: false },
          datasource: query.has('dataSource') ? readOnly : null,
          anyDatasource: readOnly,
          storesRoles: false,
          now: formatInstant(this.inventory.now),
          simulation: false,
          simulatedClock: false,
          authorityFile: null,
        }
      case '/svc/coordinator/v1/servers':
        return this.inventory.servers.map(({ name, type, tier, maxSizeBytes }, index) => ({
          host: name,
          tier,
          type,
          priority: 0,
          currSize: this.usedBytes[index]!,
          maxSize: maxSizeBytes,
        }))
      case '/svc/coordinator/v1/loadqueue':
        return {}
      default:
        return undefined
    }
  }

  private rules(dataSource: string, withDefaults: boolean): object[] {
    const { rules } = this.inventory
    const lists = [rules.get(dataSource), withDefaults ? rules.get('_default') : undefined]
    return lists.flatMap((list) => (list ?? []).map(formatRule))
  }
}

const readOnly = { read: true, write: false }
