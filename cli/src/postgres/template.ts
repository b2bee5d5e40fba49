import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { cacheFolder } from '../home/index.ts'
import type { RunAs } from './run-as.ts'

/** Templates of data folders. */
const templates = path.join(cacheFolder, 'postgres')

/**
 * The path of the data folder that new homes copy, because that is faster than initdb. One for each version of Postgres
 * and each owner of its files. It may not exist yet.
 */
export function templateFor({ binaries, id }: RunAs): string {
  const { version } = JSON.parse(readFileSync(path.join(binaries, '../package.json'), 'utf8')) as {
    version: string
  }
  return path.join(templates, `${version}-${id ?? process.getuid?.() ?? 'user'}`)
}

/** Stores a template with `copy`, unless the folder cannot be written: then the next home is created without one. */
export async function storeTemplate(
  template: string,
  copy: (staging: string) => Promise<void>,
): Promise<void> {
  const staging = `${template}.new-${process.pid}`
  try {
    mkdirSync(templates, { recursive: true })
    await copy(staging)
    if (!existsSync(template)) renameSync(staging, template)
  } catch {
    // A read-only or full checkout must not prevent the start, and another process may have stored the template.
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}
