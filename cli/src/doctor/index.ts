/** Examines configuration folders of Druid clusters: who can log in, whether servers can call each other, what is open. */
export { environmentWith } from './environment.ts'
export { examinationReport, examinationText } from './examination-text.ts'
export { examine } from './examine.ts'
export { svcSettings } from './svc-settings.ts'
