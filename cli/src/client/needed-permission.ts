import { type ResourceType, resourceText } from '@svc/domain/access'

/** Paths of svc, and on which resource their permission is. A group in the path is the name of the resource. */
const resources: readonly (readonly [path: RegExp, type: ResourceType, name: string])[] = [
  [/^\/svc\/coordinator\/v1\/rules\/(?!history$)([^/]+)/, 'DATASOURCE', ''],
  [/^\/svc\/coordinator\/v1\/(?:metadata\/)?datasources\/([^/]+)/, 'DATASOURCE', ''],
  [/^\/svc\/(?:coordinator|indexer)\/v1\/(?:compaction\/)?config\b/, 'CONFIG', 'CONFIG'],
  [/\/svc-ext\/basic-security\//, 'CONFIG', 'security'],
  [
    /^\/svc\/coordinator\/v1\/(?:rules|servers|tiers|loadstatus|loadqueue|cluster|duties)\b/,
    'STATE',
    'STATE',
  ],
]

/**
 * The permission that a request needs, for example `[READ] on [DATASOURCE] [wiki]`; undefined if it is unknown. Answers of
 * Druid do not say it. `path` is the path of svc.
 */
export function neededPermission(method: string, path: string): string | undefined {
  for (const [pattern, type, name] of resources) {
    const match = pattern.exec(path.split('?', 1)[0]!)
    if (match === null) continue
    const action = method === 'GET' ? 'READ' : 'WRITE'
    return `[${action}] on ${resourceText(type, name || decodeURIComponent(match[1]!))}`
  }
  return undefined
}
