/** Examines configuration folders of Druid clusters: who can log in, whether servers can call each other, what is open. */
export { examinationReport, examinationText } from './examination-text.ts'
export { examine } from './examine.ts'
export { readEnvironmentFile } from './read-environment-file.ts'
