import { homeLayout, makeNewFolder } from '../home/index.ts'
import { endLeftovers } from './end-cluster.ts'

/** Makes a home whole or not at all, as `makeNewFolder` does; stores that a killed command has left running are ended. */
export async function makeNewHome<Result>(
  root: string,
  fill: (growing: string) => Promise<Result>,
): Promise<Result> {
  return await makeNewFolder(root, fill, (leftover) => endLeftovers(homeLayout(leftover)))
}
