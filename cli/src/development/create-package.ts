import path from 'node:path'
import { ensureConsole } from '../console-build/index.ts'
import { repositoryRoot } from '../home/index.ts'
import { outputOf } from './run-program.ts'

/** Creates the npm package in a folder (default: .cache/package); returns the path of the tarball. */
export async function createPackage(folder?: string): Promise<string> {
  await ensureConsole()
  const args = [path.join(repositoryRoot, 'launcher/pack.mjs'), ...(folder === undefined ? [] : [folder])]
  return await outputOf(process.execPath, args, 'Failed to create the package')
}
