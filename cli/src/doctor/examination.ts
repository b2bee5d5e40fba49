import type { Configuration } from './configuration.ts'
import type { Finding } from './findings.ts'
import type { LocationMap } from './location-map.ts'

/** What is wrong with a configuration. */
export interface Examination {
  readonly configuration: Configuration
  readonly locations: LocationMap
  readonly findings: readonly Finding[]
}
