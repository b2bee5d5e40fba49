import { invalidInput } from '@svc/domain/failure'
import { formatInterval, parseInterval } from '@svc/domain/time'
import type { ClusterClient } from '../client/index.ts'

/** Which segments of a datasource to mark: all, those within an interval, or those with an ID. */
export interface SegmentSelection {
  readonly all?: boolean | undefined
  readonly interval?: string | undefined
  readonly versions?: readonly string[] | undefined
  readonly segment?: readonly string[] | undefined
}

/** Throws invalidInput unless a selection names segments in exactly one way. */
export function checkSelection({ all, interval, versions, segment }: SegmentSelection): void {
  if ([all, interval, segment].filter((one) => one !== undefined).length !== 1)
    throw invalidInput('Exactly one of [--interval], [--segment], and [--all] is required')
  if (versions !== undefined && interval === undefined)
    throw invalidInput('Option --versions requires --interval')
  if (interval !== undefined) parseInterval(interval, '--interval')
}

/** Marks segments as used or unused, and returns how many changed. Throws a Failure if the cluster rejects it. */
export async function markSegments(
  client: ClusterClient,
  dataSource: string,
  selection: SegmentSelection,
  isUsed: boolean,
): Promise<number> {
  const path = `/svc/indexer/v1/datasources/${encodeURIComponent(dataSource)}`
  const { all, interval, versions, segment } = selection
  const body =
    segment === undefined
      ? {
          interval: interval && formatInterval(parseInterval(interval, '--interval')),
          ...(versions === undefined ? {} : { versions }),
        }
      : { segmentIds: segment }
  const answer = all
    ? await client.send(isUsed ? 'POST' : 'DELETE', path)
    : await client.send('POST', `${path}/${isUsed ? 'markUsed' : 'markUnused'}`, body)
  return (answer as { readonly numChangedSegments: number }).numChangedSegments
}
