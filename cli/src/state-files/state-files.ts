import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { describeError, type Failure, forbidden, invalidInput, notFound } from '@svc/domain/failure'
import { escapeControlCharacters } from '@svc/domain/validation'
import type { Problem } from '../declared-state/index.ts'
import { readRegularFile } from '../regular-files/index.ts'
import { readYaml, type YamlText } from './read-yaml.ts'

/** A file of a declared state. */
export interface StateFile extends YamlText {
  /** Its path, as shown in messages. */
  readonly source: string
}

const maxFiles = 1000

/** Whether a path is that of one file, instead of a folder. */
export const isOneFile = (target: string): boolean =>
  existsSync(target) ? !statSync(target).isDirectory() : isYaml(target)

const isYaml = (name: string): boolean => /\.ya?ml$/i.test(name)

/** Reads a file, or all YAML files of a folder and its subfolders. Throws a Failure with file, line, and column. */
export function readStateFiles(target: string): StateFile[] {
  if (!existsSync(target))
    throw notFound(`[${target}] does not exist. To create it, run ./svc pull ${target}.`)
  const files = filesOf(target)
  if (files.length === 0)
    throw notFound(`Folder [${target}] has no YAML files. To create them, run ./svc pull ${target}.`)
  return files.map(readStateFile)
}

/** Reads one file. Throws a Failure with file, line, and column. */
export const readStateFile = (source: string): StateFile => ({
  source,
  ...readYaml(textOf(source), source),
})

/** Like `readStateFiles`, but returns no files if there are none. */
export function existingStateFiles(target: string): StateFile[] {
  return existsSync(target) && filesOf(target).length > 0 ? readStateFiles(target) : []
}

function filesOf(target: string): string[] {
  if (isOneFile(target)) return [target]
  const files = yamlFilesBelow(target, new Set([realpathSync(target)]))
  if (files.length > maxFiles)
    throw invalidInput(`Folder [${target}] has [${files.length}] YAML files: expected at most [${maxFiles}]`)
  return files
}

/** Follows symbolic links, of which the folder of a mounted ConfigMap consists. Reads each file only once, even with cycles. */
function yamlFilesBelow(folder: string, seen: Set<string>): string[] {
  // Folders such as .git and .github have other files.
  const names = readdirSync(folder).filter((name) => !name.startsWith('.'))
  return names.sort().flatMap((name) => {
    const file = path.join(folder, name)
    const found = statSync(file, { throwIfNoEntry: false })
    if (found === undefined) {
      // Otherwise, a plan would remove what the file declares.
      if (isYaml(name)) throw notFound(`[${file}] is a symbolic link to a file that does not exist`)
      return []
    }
    // What is neither a file nor a folder is refused when it is read.
    if (!found.isDirectory() && !isYaml(name)) return []
    const real = realpathSync(file)
    if (seen.has(real)) return []
    seen.add(real)
    return found.isDirectory() ? yamlFilesBelow(file, seen) : [file]
  })
}

function textOf(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readRegularFile(file))
  } catch (error) {
    throw invalidInput(`${file}:1:1: Failed to read the file: ${describeError(error)}`)
  }
}

const maxShownProblems = 20

/** The Failure for what is wrong, one line each, with file, line, and column. */
export function problemsFailure(
  files: readonly Pick<StateFile, 'source' | 'position'>[],
  problems: readonly Problem[],
): Failure {
  const positions = new Map(files.map(({ source, position }) => [source, position]))
  const different = uniqueProblems(problems)
  const lines = different
    .slice(0, maxShownProblems)
    .map(({ source, field, message }) =>
      escapeControlCharacters(`${source}:${positions.get(source)?.(field) ?? '1:1'}: ${message}`),
    )
  if (different.length > lines.length) lines.push(`and ${different.length - lines.length} more`)
  const build = problems.every(({ isDenied }) => isDenied) ? forbidden : invalidInput
  return build(lines.join('\n'))
}

/** Several lists may include the same invalid rule set. */
const uniqueProblems = (problems: readonly Problem[]): Problem[] => [
  ...new Map(
    problems.map((problem) => [`${problem.source}\n${problem.field}\n${problem.message}`, problem]),
  ).values(),
]
