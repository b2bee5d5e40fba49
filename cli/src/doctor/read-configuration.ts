import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { describeError, invalidInput } from '@svc/domain/failure'
import { type PropertyLine, propertyLines } from '@svc/shared/config'
import { readRegularFile } from '../regular-files/index.ts'
import type {
  Configuration,
  Continuation,
  InvalidEscape,
  Property,
  Repetition,
  Server,
} from './configuration.ts'
import type { LocationMap } from './location-map.ts'
import { resolveValue } from './resolve-value.ts'

const commonName = 'common.runtime.properties'
const ownName = 'runtime.properties'

/** Folders of an installation that contain no configuration. */
const skippedFolders = new Set(['node_modules', 'lib', 'extensions', 'hadoop-dependencies', 'log', 'var'])

/** Where a configuration is, and what it refers to. */
export interface ConfigurationSource {
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly locations: LocationMap
}

/** Reads the configuration folder of a Druid cluster. Throws a Failure if it is not one, or contains several. */
export function readConfiguration({ folder, environment, locations }: ConfigurationSource): Configuration {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw invalidInput(`Invalid value [${folder}] for the configuration folder: expected an existing folder`)
  const files = filesBelow(folder, '')
  const common = files.filter((file) => path.basename(file) === commonName)
  const [commonFile, ...others] = common
  if (commonFile === undefined)
    throw invalidInput(
      `Missing file [_common/${commonName}] in [${folder}]: expected a configuration folder of Druid, such as conf/druid/cluster`,
    )
  if (others.length > 0)
    throw invalidInput(
      `Folder [${folder}] contains several configurations: expected one of the folders [${common.map((file) => path.dirname(path.dirname(file))).join(', ')}]`,
    )
  const forAll = readLines(folder, commonFile)
  const own = files.filter((file) => path.basename(file) === ownName)
  const read = (file: string) => readServer({ folder, environment, locations }, { file, commonFile, forAll })
  // A folder with only the common file still describes every server.
  const servers = own.length === 0 ? [read(commonFile)] : own.map(read)
  return {
    commonFile,
    servers,
    repetitions: files.flatMap((file) => repetitionsIn(file, readLines(folder, file))),
    continuations: files.flatMap((file) => continuationsIn(file, readLines(folder, file))),
    invalidEscapes: files.flatMap((file) => invalidEscapesIn(file, readLines(folder, file))),
  }
}

/** Returns the files with properties in a folder and the folders below it. `above` are the real paths of the folders above it. */
function filesBelow(root: string, relative: string, above: readonly string[] = []): string[] {
  const folder = path.join(root, relative)
  const real = realpathSync(folder)
  // A link to a folder that contains the link.
  if (above.includes(real)) return []
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => a.name.localeCompare(b.name))
    .flatMap((entry) => {
      const file = path.join(relative, entry.name)
      if (entry.isDirectory() || (entry.isSymbolicLink() && isFolder(path.join(root, file))))
        return skippedFolders.has(entry.name) || entry.name.startsWith('.')
          ? []
          : filesBelow(root, file, [...above, real])
      // Kubernetes mounts files as links.
      return entry.name === commonName || entry.name === ownName ? [file] : []
    })
}

/** Whether a path leads to a folder; not if its link leads nowhere, or to itself. */
function isFolder(file: string): boolean {
  try {
    return statSync(file).isDirectory()
  } catch {
    return false
  }
}

const readLines = (folder: string, file: string): PropertyLine[] => propertyLines(readText(folder, file))

function readText(folder: string, file: string): string {
  try {
    return readRegularFile(path.join(folder, file)).toString('utf8')
  } catch (error) {
    throw invalidInput(`Failed to read the file [${path.join(folder, file)}]: ${describeError(error)}`)
  }
}

function readServer(
  { folder, environment, locations }: ConfigurationSource,
  files: { readonly file: string; readonly commonFile: string; readonly forAll: readonly PropertyLine[] },
): Server {
  const { file, commonFile, forAll } = files
  const jvmFile = path.join(path.dirname(file), 'jvm.config')
  const options = existsSync(path.join(folder, jvmFile)) ? systemOptions(folder, jvmFile) : []
  const systemProperties = Object.fromEntries(options.map(({ name, value }) => [name, value]))
  const properties = new Map<string, Property>()
  const add = (from: string, lines: readonly PropertyLine[]) => {
    for (const { name, value, line } of lines)
      properties.set(name, {
        name,
        file: from,
        line,
        ...resolveValue(name, value, { environment, systemProperties, fileOf: locations.fileOf }),
      })
  }
  add(commonFile, forAll)
  if (file !== commonFile) add(file, readLines(folder, file))
  add(jvmFile, options)
  return { name: path.dirname(file), file, properties }
}

/** Returns the `-Dname=value` options of a `jvm.config`, which override the properties in files. */
function systemOptions(folder: string, file: string): PropertyLine[] {
  const lines = readText(folder, file).split(/\r?\n/)
  return lines.flatMap((text, index) =>
    argumentsIn(text).flatMap((argument) => {
      const [, name, value = ''] = /^-D([^=]+)=(.*)$/.exec(argument) ?? []
      return name === undefined ? [] : [{ name, value, line: index + 1 }]
    }),
  )
}

/** The arguments in a line, as `xargs` reads them in Druid's start script: separated by spaces, unless they are quoted. */
const argumentsIn = (line: string): string[] =>
  (line.match(/(?:"[^"]*"|'[^']*'|\\.|[^\s"'\\])+/g) ?? []).map((argument) =>
    argument.replace(/"([^"]*)"|'([^']*)'|\\(.)/g, '$1$2$3'),
  )

function repetitionsIn(file: string, lines: readonly PropertyLine[]): Repetition[] {
  return [...Map.groupBy(lines, ({ name }) => name)].flatMap(([name, [first, ...others]]) => {
    const last = others.at(-1)
    return first === undefined || last === undefined || last.line === first.line
      ? []
      : [{ file, name, line: first.line, lastLine: last.line }]
  })
}

const continuationsIn = (file: string, lines: readonly PropertyLine[]): Continuation[] =>
  lines.flatMap(({ name, swallowed }) =>
    swallowed === undefined ? [] : [{ file, name, line: swallowed.line - 1, swallowed: swallowed.name }],
  )

const invalidEscapesIn = (file: string, lines: readonly PropertyLine[]): InvalidEscape[] =>
  lines.flatMap(({ name, line, backslash }) =>
    backslash === undefined ? [] : [{ file, name, line, backslash }],
  )
