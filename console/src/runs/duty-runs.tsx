import { countOf, formatCount } from '@svc/domain/text'
import { Problem } from '../ui/index.ts'
import { type DutyGroupRun, didText, type RunRow, runRows } from './duty-run-rows.ts'
import { useDutyRuns } from './use-duty-runs.ts'

/** The last runs of a group of duties: what each decided and sent, what servers answered, and how long it took. */
export function DutyRuns({
  role,
  group,
}: {
  readonly role: 'coordinator' | 'overlord'
  readonly group: string
}) {
  const { data, error } = useDutyRuns(role)
  if (error && !data) return <Problem>{error.message}</Problem>
  if (!data) return <p className="dim">Loading…</p>
  const rows = runRows(data.find(({ name }) => name === group)?.runs ?? [])
  if (rows.length === 0) return <p className="dim">It has not run yet.</p>
  const hasRequests = rows.some((row) => row.kind === 'run' && row.requests !== undefined)
  return (
    <div className="scroll duty-runs" tabIndex={0} role="group" aria-label={`Runs of ${group}`}>
      <table>
        <thead>
          <tr>
            <th>started</th>
            <th className="right">took</th>
            {hasRequests && (
              <>
                <th className="right">decided</th>
                <th className="right">sent</th>
                <th className="right">answered</th>
                <th className="right">failed</th>
                <th className="right">retried</th>
              </>
            )}
            <th>result</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={keyOf(row)} row={row} hasRequests={hasRequests} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const keyOf = (row: RunRow): string =>
  row.kind === 'run' ? row.run.startedAt : `idle until ${row.oldest.startedAt}`

const timeOf = ({ startedAt }: DutyGroupRun): string => startedAt.slice(11, 19)

function Row({ row, hasRequests }: { readonly row: RunRow; readonly hasRequests: boolean }) {
  if (row.kind === 'idle') {
    const { runs, newest, oldest } = row
    return (
      <tr className="dim">
        <td className="nowrap">{runs === 1 ? timeOf(newest) : `${timeOf(oldest)} to ${timeOf(newest)}`}</td>
        <td colSpan={hasRequests ? 7 : 2}>{countOf(runs, 'run')} with nothing to do</td>
      </tr>
    )
  }
  const { run, requests } = row
  return (
    <tr>
      <td className="nowrap">{timeOf(run)}</td>
      <td className="right nowrap">{formatCount(run.durationMs)} ms</td>
      {hasRequests && (
        <>
          <td className="right">{requests && formatCount(requests.decided)}</td>
          <td className="right">{requests && formatCount(requests.sent)}</td>
          <td className="right">{requests && answeredText(requests)}</td>
          <td className={requests && requests.failed > 0 ? 'right future-text' : 'right dim'}>
            {requests && formatCount(requests.failed)}
          </td>
          <td className={requests && requests.retried > 0 ? 'right' : 'right dim'}>
            {requests && formatCount(requests.retried)}
          </td>
        </>
      )}
      <td>
        {didText(run)}
        {run.duties.map(
          ({ duty, error }) =>
            error !== null && (
              <p key={duty} className="future-text">
                {duty} failed: <bdi>{error}</bdi>
              </p>
            ),
        )}
      </td>
    </tr>
  )
}

/** Requests that are neither answered nor failed are still in load queues, or were replaced by later ones. */
function answeredText({
  sent,
  answered,
  failed,
}: NonNullable<Extract<RunRow, { kind: 'run' }>['requests']>): string {
  return answered + failed < sent ? `${formatCount(answered)} of ${formatCount(sent)}` : formatCount(answered)
}
