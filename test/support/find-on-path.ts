import { existsSync } from 'node:fs'
import path from 'node:path'

/** Returns the file of the first of these programs that is on PATH or in one of the other folders; undefined if none is. */
export function findOnPath(
  names: readonly string[],
  otherFolders: readonly string[] = [],
): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), ...otherFolders]
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(existsSync)
}

/** Chromium on this machine; undefined if there is none. */
export const chromiumFile = findOnPath(['chromium', 'chromium-browser', 'google-chrome'])

/** Firefox on this machine; undefined if there is none. */
export const firefoxFile = findOnPath(['firefox-esr', 'firefox'])
