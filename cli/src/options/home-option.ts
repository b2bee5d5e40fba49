import { invalidInput, notFound } from '@svc/domain/failure'
import type { Command } from 'commander'
import {
  assertNoFailedImport,
  defaultHome,
  type HomeLayout,
  homeArgument,
  homeLayout,
  isHome,
} from '../home/index.ts'

/** Adds the option that names the home. */
export function withHome(command: Command): Command {
  return command.option(
    '--home <dir>',
    'Folder with all state of the cluster (default: .svc next to ./svc)',
    parseHome,
  )
}

/** Refuses an empty name, which an unset shell variable leaves: it would mean the current folder. */
export function parseHome(folder: string): string {
  if (folder.trim() === '') throw invalidInput('Invalid value [] for [--home]: expected the path of a folder')
  return folder
}

/** What to do when a home does not exist, for commands that have no use for a new one. */
export const selectAnother = 'Select another home with --home.'

/** The home of a command, which must exist. Throws a Failure with `advice`, or with why an import failed, if it does not. */
export function existingHome(folder: string | undefined, advice?: string): HomeLayout {
  const home = homeLayout(folder ?? defaultHome)
  if (isHome(home)) return home
  assertNoFailedImport(home)
  const create = `Create one with ./svc up${homeArgument(home.root)}, or select another home with --home.`
  throw notFound(`There is no cluster in [${home.root}]. ${advice ?? create}`)
}
