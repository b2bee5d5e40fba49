import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { homeLayout, repositoryRoot } from '@svc/cli/home'

const shared = new Set(['node_modules', '.cache'])
const leftOut = new Set(['.git', '.svc'])

/**
 * Copies this repository to `.cache/docs/<name>`, without the state of any cluster; dependencies are shared
 * with the repository. Returns the path, which is always the same so that the compile cache of Node.js is
 * reused.
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
