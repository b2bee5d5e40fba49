import { readFileSync, writeFileSync } from 'node:fs'
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
  const documents = await generatedDocuments(given)
  for (const [name, text] of Object.entries(documents)) writeFileSync(path.join(repositoryRoot, name), text)
  return Object.keys(documents)
}

/** The names of generated documents that differ from what their source generates now; `given` are those of the caller. */
export async function outdatedDocuments(given: Documents): Promise<readonly string[]> {
  return Object.entries(await generatedDocuments(given))
    .filter(([name, text]) => readFileSync(path.join(repositoryRoot, name), 'utf8') !== text)
    .map(([name]) => name)
}

async function generatedDocuments(given: Documents): Promise<Documents> {
  return {
    ...given,
    'docs/metrics.md': metricsDocument(),
    'docs/properties.md': propertiesDocument(),
    'docs/state.schema.json': stateSchemaText(),
    'packages/shared/src/openapi/openapi.json': await openApiText(),
  }
}

/** The OpenAPI document of all roles, as the router serves it. */
export async function openApiText(): Promise<string> {
  return `${JSON.stringify(openApiDocument(await loadEndpoints(), interfaceVersion), null, 1)}\n`
}
