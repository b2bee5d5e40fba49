import { useQuery } from '@tanstack/react-query'
import { refreshMs } from '../cluster/index.ts'
import { fetchJson } from '../session/index.ts'
import type { DutyHistory } from './duty-run-rows.ts'

const paths = { coordinator: '/svc/coordinator/v1/duties/runs', overlord: '/svc/indexer/v1/duties/runs' }
/** Maximum number of runs in each list. */
export const maxDutyRuns = 100

/** The last duty runs of a leader by group, newest first. */
export const useDutyRuns = (role: keyof typeof paths) =>
  useQuery({
    queryKey: ['dutyRuns', role],
    queryFn: async () => {
      const { dutyGroups } = await fetchJson<{ readonly dutyGroups: readonly DutyHistory[] }>(
        `${paths[role]}?count=${maxDutyRuns}`,
      )
      return dutyGroups
    },
    refetchInterval: refreshMs,
  })
