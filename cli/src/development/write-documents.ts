import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { propertiesDocument } from '@svc/shared/config'
import { metricsDocument } from '@svc/shared/metrics'
import { openApiDocument } from '@svc/shared/openapi'
import { interfaceVersion } from '@svc/shared/runtime'
import { stateSchemaText } from '../declared-state/index.ts'
import { repositoryRoot } from '../home/index.ts'
import { loadEndpoints } from './load-endpoints.ts'

/** Texts by file name. */
type Documents = Readonly<Record<string, string>>

/** Writes `given` and the other documents that are generated from the source; returns their names. */
export async function writeDocuments(given: Documents): Promise<readonly string[]> {
  const documents: Documents = {
    ...given,
    'docs/metrics.md': metricsDocument(),
    'docs/properties.md': propertiesDocument(),
    'docs/state.schema.json': stateSchemaText(),
    'packages/shared/src/openapi/openapi.json': await openApiText(),
  }
  for (const [name, text] of Object.entries(documents)) writeFileSync(path.join(repositoryRoot, name), text)
  return Object.keys(documents)
}

/** The OpenAPI document of all roles, as the router serves it. */
export async function openApiText(): Promise<string> {
  return `${JSON.stringify(openApiDocument(await loadEndpoints(), interfaceVersion), null, 1)}\n`
}
