import { escapeInvisible } from '@svc/domain/validation'
import { countOf, emphasized } from '../terminal/index.ts'
import type { Examination } from './examination.ts'
import type { Finding } from './findings.ts'
import { sameEffect } from './up-effects.ts'

/** An examination as text: one paragraph for each finding, and a summary. */
export function examinationText({ configuration, findings }: Examination): string {
  const serverCount = configuration.servers.length
  const numberOf = (severity: Finding['severity']) =>
    findings.filter((finding) => finding.severity === severity).length
  const summary = `Checked ${countOf(serverCount, 'server')}: ${countOf(numberOf('error'), 'error')}, ${countOf(numberOf('warning'), 'warning')}.`
  return `${[...findings.map((finding) => findingText(finding, serverCount)), summary].join('\n\n')}\n`
}

/** Why `./svc up --config` does not start a cluster; undefined if it does. */
export function refusalText({ findings, configuration }: Examination): string | undefined {
  const refused = findings.filter(({ up }) => !up.starts)
  if (refused.length === 0) return undefined
  const texts = refused.map((finding) => findingText(finding, configuration.servers.length))
  return `The cluster does not start with this configuration (${countOf(refused.length, 'problem')}):\n\n${texts.join('\n\n')}\n`
}

function findingText(finding: Finding, serverCount: number): string {
  const { file, line, code, severity, problem, effect, fix, servers } = finding
  const place = line === undefined ? file : `${file}:${line}`
  // The effect alone says what happens if the cluster does the same as Druid.
  const up = finding.up === sameEffect ? '' : `\n  ./svc up --config: ${finding.up.text}`
  // Values and names of folders may contain control sequences for the terminal.
  const [where, what, then, advice, others] = [place, problem, effect, fix, servers.join(', ')].map(
    escapeInvisible,
  )
  const affected = servers.length === serverCount ? '' : `\n  Servers: ${others}`
  return `${where}: ${emphasized(severity)} ${code}\n  ${what}.\n  Effect: ${then}\n  Fix: ${advice}${up}${affected}`
}

/** An examination as JSON. */
export const examinationReport = ({ configuration, findings }: Examination) => ({
  servers: configuration.servers.map(({ name }) => name),
  findings,
})
