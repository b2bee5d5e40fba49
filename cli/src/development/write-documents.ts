import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { propertiesDocument } from '@svc/shared/config'
import { repositoryRoot } from '../home/index.ts'

/** Writes the pages of docs/ that are made from the source; returns their names. */
export function writeDocuments(): readonly string[] {
  writeFileSync(path.join(repositoryRoot, 'docs', 'properties.md'), propertiesDocument())
  return ['docs/properties.md']
}
