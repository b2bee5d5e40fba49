/** Examines configuration folders of Druid clusters: who can log in, whether servers can call each other, what is open. */
export { accessChangesText, compareAccess, readEndpoints } from './compare-access.ts'
export { environmentWith } from './environment.ts'
export { examinationReport, examinationText } from './examination-text.ts'
export { type ExamineOptions, examine } from './examine.ts'
export { noKnownUsers, readKnownUsers } from './known-users.ts'
export { readLocationMap } from './location-map.ts'
export { readConfiguration } from './read-configuration.ts'
export { svcSettings } from './svc-settings.ts'
