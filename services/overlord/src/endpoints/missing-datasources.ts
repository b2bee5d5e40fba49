import type { CompactionPreviewRequest } from '@svc/domain/compaction'
import type { LivePlan } from '@svc/shared/compaction'

/** A datasource that a request names, and why its schedule does not contain it. */
export interface MissingDatasource {
  readonly dataSource: string
  readonly reason: 'noPermission' | 'noConfiguration' | 'noSegments'
}

const noFindings = { needed: [], skipped: [], compactedIntervals: [] } as const

type Found = Readonly<Record<keyof typeof noFindings, readonly unknown[]>>

type Given = Pick<CompactionPreviewRequest, 'configs' | 'segments'>

/** Returns the datasources that a request names. */
export const namesIn = ({ configs = [], segments = [] }: Given): ReadonlySet<string> =>
  new Set([...configs, ...segments].map(({ dataSource }) => dataSource))

/**
 * Returns the datasources that a request names and its plan does not cover. The reason `noPermission` does not depend on
 * whether the datasource exists.
 */
export function missingDatasources(
  given: Given,
  plan: {
    readonly configs: Pick<LivePlan['configs'], 'has'>
    readonly findings: ReadonlyMap<string, Found>
  },
  sees: (dataSource: string) => boolean,
): MissingDatasource[] {
  return [...namesIn(given)].flatMap((dataSource): MissingDatasource[] => {
    if (!sees(dataSource)) return [{ dataSource, reason: 'noPermission' }]
    if (!plan.configs.has(dataSource)) return [{ dataSource, reason: 'noConfiguration' }]
    const { needed, skipped, compactedIntervals } = plan.findings.get(dataSource) ?? noFindings
    const hasSegments = needed.length + skipped.length + compactedIntervals.length > 0
    return hasSegments ? [] : [{ dataSource, reason: 'noSegments' }]
  })
}
