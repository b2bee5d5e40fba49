import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { homeLayout, repositoryRoot } from '@svc/cli/home'

const shared = new Set(['node_modules', '.cache'])
const leftOut = new Set(['.git', '.svc'])

/**
 * Makes a copy of this repository in `.cache/docs/<name>`, without any cluster's state; dependencies are shared with the
 * repository. Returns its path, which is always the same: what Node.js compiled for one run serves the next one.
 */
export function makeClone(name: string): string {
  const folder = path.join(repositoryRoot, '.cache/docs', name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const entry of readdirSync(repositoryRoot)) {
    const source = path.join(repositoryRoot, entry)
    if (leftOut.has(entry) || existsSync(homeLayout(source).marker)) continue
    if (shared.has(entry)) symlinkSync(source, path.join(folder, entry))
    else cpSync(source, path.join(folder, entry), { recursive: true, verbatimSymlinks: true })
  }
  return folder
}
