import { countOf, emphasized } from '../terminal/index.ts'
import type { Examination } from './examine.ts'
import type { Finding } from './findings.ts'

/** An examination as text: one paragraph for each finding, and a summary. */
export function examinationText({ configuration, findings }: Examination): string {
  const serverCount = configuration.servers.length
  const numberOf = (severity: Finding['severity']) =>
    findings.filter((finding) => finding.severity === severity).length
  const summary = `Checked ${countOf(serverCount, 'server')}: ${countOf(numberOf('error'), 'error')}, ${countOf(numberOf('warning'), 'warning')}.`
  return `${[...findings.map((finding) => findingText(finding, serverCount)), summary].join('\n\n')}\n`
}

function findingText(finding: Finding, serverCount: number): string {
  const { file, line, code, severity, problem, effect, fix, servers } = finding
  const place = line === undefined ? file : `${file}:${line}`
  const affected = servers.length === serverCount ? '' : `\n  Servers: ${servers.join(', ')}`
  return `${place}: ${emphasized(severity)} ${code}\n  ${problem}.\n  Effect: ${effect}\n  Fix: ${fix}${affected}`
}

/** An examination as JSON. */
export const examinationReport = ({ configuration, findings }: Examination) => ({
  servers: configuration.servers.map(({ name }) => name),
  findings,
})
