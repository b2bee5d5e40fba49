import { createNewFolder, homeLayout } from '../home/index.ts'
import { endLeftovers } from './end-cluster.ts'

/** Creates a complete home or none, as `createNewFolder` does; stops stores that a killed command left running. */
export async function createNewHome<Result>(
  root: string,
  fill: (growing: string) => Promise<Result>,
): Promise<Result> {
  return await createNewFolder(root, fill, (leftover) => endLeftovers(homeLayout(leftover)))
}
