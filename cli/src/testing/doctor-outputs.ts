import {
  compareConfigurations,
  comparisonText,
  type Examination,
  examinationReport,
  examinationText,
  noKnownUsers,
  readEndpoints,
  refusalText,
  svcSettings,
} from '../doctor/index.ts'

/** Returns everything that ./svc doctor prints about a configuration, alone and compared with another one. */
export async function doctorOutputs(examination: Examination, before: Examination): Promise<string[]> {
  const comparison = compareConfigurations(before, examination, noKnownUsers, await readEndpoints())
  return [
    examinationText(examination),
    JSON.stringify(examinationReport(examination)),
    ...svcSettings(examination).notices,
    refusalText(examination) ?? '',
    comparisonText(comparison, examination.configuration.servers.length),
    JSON.stringify(comparison),
  ]
}
