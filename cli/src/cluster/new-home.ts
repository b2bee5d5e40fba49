import { homeLayout, makeNewFolder } from '../home/index.ts'
import { endLeftovers } from './end-cluster.ts'

/** Creates a complete home or none, as `makeNewFolder` does; stops stores that a killed command left running. */
export async function makeNewHome<Result>(
  root: string,
  fill: (growing: string) => Promise<Result>,
): Promise<Result> {
  return await makeNewFolder(root, fill, (leftover) => endLeftovers(homeLayout(leftover)))
}
