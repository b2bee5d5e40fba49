import { countOf, formatCount } from '@svc/domain/text'
import { formatMinute, Problem } from '../ui/index.ts'
import { didText, type RunRow, runRows } from './duty-run-rows.ts'
import { maxDutyRuns, useDutyRuns } from './use-duty-runs.ts'

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
  const history = data.find(({ name }) => name === group)
  if (history === undefined || history.totalRuns === 0) return <p className="dim">It has not run yet.</p>
  const { rows, earlierRuns } = runRows(history)
  const listed = new Set(rows.map((row) => (row.kind === 'run' ? row.run.startedAt : '')))
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
            <th className="result">result</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={keyOf(row)} row={row} hasRequests={hasRequests} />
          ))}
        </tbody>
      </table>
      {earlierRuns > 0 && (
        <p className="hint">
          {countOf(earlierRuns, 'earlier run')}{' '}
          {history.nonIdleRuns.length < maxDutyRuns ? 'with nothing to do' : 'not listed'}
        </p>
      )}
      {history.lastFailures
        .filter(({ startedAt }) => !listed.has(startedAt))
        .map(({ duty, startedAt, error: reason }) => (
          <p key={duty} className="hint">
            {duty} last failed at {formatMinute(Date.parse(startedAt))}: <bdi>{reason}</bdi>
          </p>
        ))}
    </div>
  )
}

const keyOf = (row: RunRow): string =>
  row.kind === 'run' ? String(row.run.number) : `idle since ${row.since}`

const timeOf = (startedAt: string): string => startedAt.slice(11, 19)

function Row({ row, hasRequests }: { readonly row: RunRow; readonly hasRequests: boolean }) {
  if (row.kind === 'idle') {
    const { runs, since, until } = row
    return (
      <tr className="dim">
        <td className="nowrap">{since === until ? timeOf(since) : `${timeOf(since)} to ${timeOf(until)}`}</td>
        <td colSpan={hasRequests ? 6 : 1} />
        <td>{countOf(runs, 'run')} with nothing to do</td>
      </tr>
    )
  }
  const { run, requests } = row
  return (
    <tr>
      <td className="nowrap">{timeOf(run.startedAt)}</td>
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
