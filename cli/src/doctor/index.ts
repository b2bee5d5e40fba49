/** Examines configuration folders of Druid clusters: who can log in, whether servers can call each other, what is open. */
export { readEndpoints } from './compare-access.ts'
export { compareConfigurations, comparisonText } from './comparison.ts'
export { environmentWith } from './environment.ts'
export type { Examination } from './examination.ts'
export { examinationReport, examinationText, refusalText } from './examination-text.ts'
export { type ExamineOptions, examine } from './examine.ts'
export { noKnownUsers, readKnownUsers } from './known-users.ts'
export { svcSettings } from './svc-settings.ts'
