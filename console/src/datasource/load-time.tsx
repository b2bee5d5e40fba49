import type { AnsweredLoadTime } from '@svc/domain/load-time'
import type { RuleJson } from '@svc/domain/rules'
import { formatList } from '@svc/domain/text'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useCaller } from '../cluster/index.ts'
import { fetchJson, hasCluster } from '../session/index.ts'
import { formatSpan } from '../ui/index.ts'
import { loadTimeParts } from './load-time-text.ts'
import { identityOf } from './object-identity.ts'

// So that typing does not send a request for each key.
const pauseMs = 600

// Right after the leader was replaced, it does not know all servers.
const unknownMs = 2000

/** A preview of the coordinator. It has no summary while the leader does not know all servers. */
interface Preview {
  readonly known: boolean
  readonly summary?: { readonly loadTime?: AnsweredLoadTime }
}

/** How long an edit takes to load, and what limits it, as the coordinator estimates from measured rates. */
export function LoadTime({
  dataSource,
  rules,
}: {
  readonly dataSource: string
  readonly rules: readonly RuleJson[]
}) {
  const { data: caller } = useCaller(dataSource)
  const settled = useSettled(rules)
  const isAllowed = hasCluster() && caller?.state.read === true
  const { data } = useQuery({
    queryKey: ['loadTime', dataSource, identityOf(settled)],
    queryFn: ({ signal }) =>
      fetchJson<Preview>('/svc/coordinator/v1/rules/simulate', {
        method: 'POST',
        body: { rules: Object.fromEntries([[dataSource, settled]]) },
        signal,
      }),
    enabled: isAllowed,
    retry: false,
    refetchInterval: ({ state }) => (state.data?.known === false ? unknownMs : false),
    gcTime: 10_000,
  })
  const loadTime = settled === rules ? data?.summary?.loadTime : undefined
  if (!loadTime || Object.keys(loadTime.tiers).length === 0) return null
  const { durationMs, limits, unmeasured } = loadTimeParts(loadTime)
  return (
    <p className="sentence small" role="status" title={`Assumptions: ${loadTime.assumptions.join('. ')}`}>
      {durationMs === undefined
        ? `The load time is unknown, because no loads have been measured in ${formatList(unmeasured)} yet.`
        : `Loading takes ${durationMs < 1000 ? 'less than 1 s' : `about ${formatSpan(durationMs)}`}, limited by ${formatList(limits)}.`}
    </p>
  )
}

/** Returns a value once it has not changed for a moment. */
function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
