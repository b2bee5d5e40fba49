import type { SegmentTable } from '@svc/domain/inventory'
import { withFieldsFirst } from '@svc/domain/json'
import { type RuleBoundaries, ruleBoundariesOf } from '@svc/domain/rules'
import { pagesOfUsedSegments } from '@svc/shared/postgres'
import type { ClusterView } from '../cluster-view.ts'

/** Status of a datasource's used segments: which ones are overshadowed, and how many replicas the current rules require. */
interface RulesView {
  readonly overshadowed: ReadonlySet<string>
  readonly copies: ReadonlyMap<string, number>
}

/** Yields the payloads of a datasource as JSON. Each one starts with the status of the segment. */
export async function* payloadsWithStatus(
  { context, segments, servers, rules }: Pick<ClusterView, 'context' | 'segments' | 'servers' | 'rules'>,
  dataSource: string,
): AsyncGenerator<string[]> {
  const boundaries = ruleBoundariesOf(await rules.current(), dataSource, context.clock.now())
  const historicals = servers.servers().filter(({ type }) => type === 'historical').length
  const { overshadowed, copies } = viewRules(segments.table, dataSource, boundaries, historicals)
  for await (const page of pagesOfUsedSegments(context.database, dataSource))
    yield page.map(({ id, totalRows, text }) =>
      withFieldsFirst(
        {
          overshadowed: overshadowed.has(id),
          replicationFactor: copies.get(id) ?? 0,
          numRows: totalRows,
          realtime: false,
        },
        text,
      ),
    )
}

function viewRules(
  table: SegmentTable,
  dataSource: string,
  boundaries: RuleBoundaries,
  historicals: number,
): RulesView {
  const number = table.datasourceNumber(dataSource)
  const overshadowed = new Set<string>()
  const copies = new Map<string, number>()
  const wantedCopies = boundaries.replicaCounter(historicals)
  for (const group of number < 0 ? [] : table.groupsOf(number)) {
    const isHidden = table.hiddenOf[group] === 1
    const interval = { start: table.startOf[group] as number, end: table.endOf[group] as number }
    const count = isHidden ? 0 : wantedCopies(boundaries.match(interval))
    table.forEachRow(group, (row) => {
      const id = table.idOf(row)
      if (isHidden) overshadowed.add(id)
      copies.set(id, count)
    })
  }
  return { overshadowed, copies }
}
