import { invalidInput, notFound } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { ClusterClient } from '../client/index.ts'
import { defaultHome, type HomeLayout, homeLayout, isHome } from '../home/index.ts'

/** Adds the option that names the home. */
export function withHome(command: Command): Command {
  return command.option(
    '--home <dir>',
    'folder that holds all state of the cluster (default: .svc beside ./svc)',
    parseHome,
  )
}

/** Refuses an empty name, which is what a variable that is not set leaves: it would be the folder one stands in. */
export function parseHome(folder: string): string {
  if (folder.trim() === '') throw invalidInput('Option --home is empty, allowed is the name of a folder')
  return folder
}

/** The home that a command is about, which must be there. Throws a Failure when it is not. */
export function existingHome(folder: string | undefined): HomeLayout {
  const home = homeLayout(folder ?? defaultHome)
  if (!isHome(home))
    throw notFound(
      `There is no cluster in [${home.root}]: make one with ./svc up, or name another with --home`,
    )
  return home
}

/** Speaks with the cluster of a home as its admin. Throws a Failure when there is no such home. */
export async function connectToHome(folder: string | undefined): Promise<ClusterClient> {
  const { connectToCluster } = await import('../client/index.ts')
  return connectToCluster(existingHome(folder))
}
