import type { AnsweredRule, AnsweredServer, ExplanationAnswer } from '@svc/domain/explanation'
import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import type { ReactNode } from 'react'
import { useExplanation } from '../cluster/index.ts'
import { hasCluster } from '../session/index.ts'
import { formatMinute, Name, Notice, Problem, visible } from '../ui/index.ts'
import type { ExplainedSegment } from '../web-worker/index.ts'
import { describeRule } from './rule-text.ts'

/** Why one segment is where it is: the rules in order, replicas by tier, servers with failures, and what happens next. */
export function SegmentPanel({
  dataSource,
  segment,
}: {
  readonly dataSource: string
  readonly segment: ExplainedSegment
}) {
  const { data, error } = useExplanation(dataSource, segment.id)
  const { interval, version, partitionNum, sizeBytes } = segment
  return (
    <section className="explanation" aria-label="Explanation" tabIndex={0}>
      <div>
        <code>{interval}</code>
        <p className="dim numbers">
          version <Name>{version}</Name>, partition {partitionNum}, {formatBytes(sizeBytes)}
        </p>
      </div>
      {error && <Problem>{error.message}</Problem>}
      {data && <Explanation explained={data} />}
      {!data && !error && hasCluster() && <p className="dim">Loading the explanation…</p>}
      {!hasCluster() && <LocalServers segment={segment} />}
    </section>
  )
}

function Explanation({ explained }: { readonly explained: ExplanationAnswer }) {
  const { state, summary, causes, tiers = [], omittedTiers = 0, servers = [], next = [] } = explained
  const isFine = state === 'loaded'
  // The summary names the most important cause.
  const others = isFine ? [] : causes.filter(({ text }) => !summary.includes(text))
  return (
    <>
      <Notice kind={isFine ? 'done' : 'warning'}>
        <b>{visible(summary)}.</b>
        {others.length > 0 && (
          <ul>
            {others.map(({ code, text }, index) => (
              <li key={`${code} ${index}`}>{visible(text)}</li>
            ))}
          </ul>
        )}
      </Notice>
      <Rules explained={explained} />
      {tiers.length > 0 && (
        <Part title="Replicas">
          <table>
            <thead>
              <tr>
                <th>tier</th>
                <th className="right">required</th>
                <th className="right">served</th>
                <th className="right">loading</th>
                <th className="right">dropping</th>
              </tr>
            </thead>
            <tbody>
              {tiers.map((one) => (
                <tr key={one.tier}>
                  <th scope="row">
                    <Name>{one.tier}</Name>
                  </th>
                  <td className="right">{formatCount(one.required)}</td>
                  <td className="right">{formatCount(one.served + one.leaving)}</td>
                  <td className="right">{formatCount(one.loading)}</td>
                  <td className="right">{formatCount(one.dropping)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {omittedTiers > 0 && <p className="hint">and {countOf(omittedTiers, 'more tier')}</p>}
        </Part>
      )}
      {servers.length > 0 && <Servers servers={servers} omitted={explained.omittedServers ?? 0} />}
      {next.length > 0 && (
        <Part title="What happens next">
          <ul>
            {next.map(({ code, at, text }, index) => (
              <li key={`${code} ${index}`}>
                {at !== undefined && <span className="dim numbers">{formatMinute(Date.parse(at))}: </span>}
                {visible(text)}
              </li>
            ))}
          </ul>
        </Part>
      )}
    </>
  )
}

const Part = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <div>
    <h3>{title}</h3>
    {children}
  </div>
)

function Rules({ explained }: { readonly explained: ExplanationAnswer }) {
  const { rule, earlierRules = [], omittedRules = 0 } = explained
  if (rule === undefined) return null
  return (
    <Part title="Rules, in order">
      <ol>
        {omittedRules > 0 && (
          <li className="dim">
            {countOf(omittedRules, 'other earlier rule')} {omittedRules === 1 ? 'does' : 'do'} not apply.
          </li>
        )}
        {earlierRules.map((one) => (
          <li key={`${one.source} ${one.place}`} className="dim">
            {ruleName(one)} does not apply. {visible(one.text)}
          </li>
        ))}
        <li>
          <b>{ruleName(rule)} applies.</b>
        </li>
      </ol>
    </Part>
  )
}

function ruleName({ place, source, rule }: AnsweredRule): string {
  if (source === 'lastRule') return 'No rule matches, so the built-in last rule'
  const { what, scope, where } = describeRule(rule)
  const text = `${what} ${scope}${where === '' ? '' : ` → ${where}`}`
  return `${source === 'defaults' ? 'Default rule' : 'Rule'} ${place} (${visible(text)})`
}

function Servers({
  servers,
  omitted,
}: {
  readonly servers: readonly AnsweredServer[]
  readonly omitted: number
}) {
  return (
    <Part title="Servers">
      <table>
        <tbody>
          {servers.map(({ server, text, failure }) => (
            <tr key={server}>
              <th scope="row">
                <Name>{server}</Name>
              </th>
              <td>
                {visible(text)}
                {failure && (
                  <p className="problem">
                    Failed at {formatMinute(Date.parse(failure.at))}: <Name>{failure.error}</Name>
                  </p>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {omitted > 0 && <p className="hint">and {countOf(omitted, 'more server')}</p>}
    </Part>
  )
}

/** What a snapshot knows about the servers of a segment. */
function LocalServers({ segment: { servers } }: { readonly segment: ExplainedSegment }) {
  return (
    <Part title="Servers">
      {servers.length === 0 ? (
        <p>No server serves this segment.</p>
      ) : (
        <ul>
          {servers.map((server) => (
            <li key={server}>
              <Name>{server}</Name>
            </li>
          ))}
        </ul>
      )}
    </Part>
  )
}
