import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { homeLayout, repositoryRoot } from '@svc/cli/home'

const leftOut = new Set(['.git', '.svc', '.cache'])

/**
 * Copies this repository to `.cache/docs/<name>`, without the state of any cluster; dependencies are shared
 * with the repository. Returns the path.
 */
export function makeClone(name: string): string {
  const folder = path.join(repositoryRoot, '.cache/docs', name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const entry of readdirSync(repositoryRoot)) {
    const source = path.join(repositoryRoot, entry)
    if (leftOut.has(entry) || existsSync(homeLayout(source).marker)) continue
    if (entry === 'node_modules') symlinkSync(source, path.join(folder, entry))
    else cpSync(source, path.join(folder, entry), { recursive: true, verbatimSymlinks: true })
  }
  shareCache(path.join(repositoryRoot, '.cache'), path.join(folder, '.cache'))
  return folder
}

/** Shares everything but the build: its programs find the other files of their clone relative to themselves. */
function shareCache(from: string, to: string): void {
  mkdirSync(path.join(to, 'build'), { recursive: true })
  for (const entry of readdirSync(from)) {
    if (entry !== 'build') symlinkSync(path.join(from, entry), path.join(to, entry))
  }
  const current = readFileSync(path.join(from, 'build/current'), 'utf8').trim()
  for (const entry of ['build/current', `build/${current}`]) {
    const filter = (source: string) => path.basename(source) !== 'compile'
    cpSync(path.join(from, entry), path.join(to, entry), { recursive: true, filter })
  }
}
