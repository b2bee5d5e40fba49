import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import { readJar } from './read-jar.ts'

/** Where the files of the console are in its jar. */
const folderInJar = 'org/apache/druid/console/'
const page = 'unified-console.html'
const jarName = /^(druid-console|web-console)-.*\.jar$/

/** Returns a file of the console by its path, or undefined. The path `/` is the page. */
export type ConsoleFiles = (pathname: string) => Buffer | undefined

/**
 * Opens the files of Druid's console: those of the jar in a Druid installation, of a jar, or of a folder with the content of
 * the jar. Throws invalidInput if there are none.
 */
export function openConsoleFiles(place: string): ConsoleFiles {
  const unpacked = [place, path.join(place, folderInJar)].find((folder) =>
    existsSync(path.join(folder, page)),
  )
  if (unpacked !== undefined) return filesOfFolder(unpacked)
  const jar = jarIn(place)
  const files = jar === undefined ? undefined : readJar(readFileSync(jar), folderInJar)
  if (!files?.has(page))
    throw invalidInput(
      `Druid's console is not in [${place}]: expected a Druid installation with [lib/web-console-*.jar], or the unpacked files of that jar`,
    )
  return (pathname) => files.get(nameOf(pathname))
}

const nameOf = (pathname: string): string => (pathname === '/' ? page : pathname.slice(1))

function filesOfFolder(folder: string): ConsoleFiles {
  const root = path.resolve(folder)
  return (pathname) => {
    const file = path.join(root, nameOf(pathname))
    const isFile =
      file.startsWith(`${root}${path.sep}`) && statSync(file, { throwIfNoEntry: false })?.isFile()
    return isFile ? readFileSync(file) : undefined
  }
}

/** Returns the jar of the console: the given file, or the one in a folder or in its `lib`. */
function jarIn(place: string): string | undefined {
  if (statSync(place, { throwIfNoEntry: false })?.isFile()) return place
  const folders = [place, path.join(place, 'lib')].filter((folder) => existsSync(folder))
  return folders
    .flatMap((folder) => readdirSync(folder).map((name) => ({ folder, name })))
    .filter(({ name }) => jarName.test(name))
    .map(({ folder, name }) => path.join(folder, name))[0]
}
