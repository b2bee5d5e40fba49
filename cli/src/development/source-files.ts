import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { repositoryRoot } from '../home/index.ts'

/** Returns the files of the repository that match patterns, sorted, as relative paths with slashes. */
export const findSources = (patterns: readonly string[], exclude: readonly string[] = []): string[] => {
  const found = globSync(patterns, { cwd: repositoryRoot, exclude: ['**/node_modules/**', ...exclude] })
  return [...new Set(found.map((file) => file.split(path.sep).join('/')))].sort()
}

/** Returns the text of a file, given by its path in the repository. */
export const readSource = (file: string): string => readFileSync(path.join(repositoryRoot, file), 'utf8')
