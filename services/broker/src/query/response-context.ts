import { fittingItems, jsonInAscii, memberText } from '@svc/domain/json'

const maxBytes = 4096

/**
 * Returns the header that reports used segments missing from the result because no server has loaded them, by datasource.
 * If not all datasources fit in 4 KiB, `truncated` is true.
 */
export function responseContext(notLoaded: Readonly<Record<string, number>>): Record<string, string> {
  const datasources = Object.entries(notLoaded)
  if (datasources.length === 0) return {}
  const listed = datasourcesWithin(datasources, maxBytes - contextOf([]).length)
  if (listed.length === datasources.length) return headerOf(contextOf(datasources))
  const truncated = { truncated: true }
  return headerOf(
    contextOf(datasourcesWithin(datasources, maxBytes - contextOf([], truncated).length), truncated),
  )
}

type Datasources = readonly (readonly [dataSource: string, segments: number])[]

const headerOf = (text: string): Record<string, string> => ({ 'X-Svc-Response-Context': text })

const contextOf = (datasources: Datasources, more: object = {}): string =>
  jsonInAscii(JSON.stringify({ segmentsNotLoaded: Object.fromEntries(datasources), ...more }))

// No comma follows the last one.
const datasourcesWithin = (datasources: Datasources, maxLength: number): Datasources =>
  fittingItems(datasources, maxLength + 1, ([name, segments]) =>
    jsonInAscii(memberText([name, `${segments}`])),
  )
