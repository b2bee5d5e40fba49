/** The licenses of third-party code in the npm package. */
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { root } from './bundle.mjs'

/**
 * Returns the names, versions, and licenses of the packages that bundles consist of, given the paths of their sources;
 * with the console also of its dependencies.
 */
export function noticesOf(inputs, withConsole) {
  const folders = new Set(inputs.map(packageFolderOf).filter((folder) => folder !== undefined))
  if (withConsole) addDependencies(path.join(root, 'console'), folders)
  const notices = [...folders].sort().map(noticeOf)
  return `This package contains code from the following packages.\n\n${[...new Set(notices)].join('\n')}`
}

/** The folder of the package that a source belongs to; undefined if it is our own. */
function packageFolderOf(input) {
  const [folder] = /^.*\bnode_modules\/(@[^/]+\/)?[^/]+/.exec(input) ?? []
  return folder && path.join(root, folder)
}

/** Adds the dependencies of a package that the checkout does not contain itself, and their dependencies. */
function addDependencies(folder, folders) {
  const { dependencies = {} } = readManifest(folder)
  // pnpm stores the dependencies of an installed package next to it.
  const place = folder.includes('node_modules')
    ? folder.slice(0, folder.lastIndexOf('node_modules') + 'node_modules'.length)
    : path.join(folder, 'node_modules')
  for (const [name, version] of Object.entries(dependencies)) {
    if (version.startsWith('workspace:')) continue
    const dependency = realpathSync(path.join(place, name))
    if (folders.has(dependency)) continue
    folders.add(dependency)
    addDependencies(dependency, folders)
  }
}

function noticeOf(folder) {
  const { name, version, license } = readManifest(folder)
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
  const texts = files.map((file) => readFileSync(path.join(folder, file), 'utf8').trim())
  return [`${'='.repeat(80)}\n${name} ${version} (${license})\n`, ...texts, ''].join('\n')
}

const readManifest = (folder) => {
  const file = path.join(folder, 'package.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}
