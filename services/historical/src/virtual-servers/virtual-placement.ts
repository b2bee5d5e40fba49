import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { linesOf } from '@svc/shared/wire'
import type { VirtualCluster } from './virtual-cluster.ts'

/** A line of a placement file: some of the segments of one server, with their sizes in bytes. */
interface PlacementLine {
  readonly server: string
  readonly segments: readonly (readonly [id: string, sizeBytes: number])[]
}

// Short enough to be read and written without a long pause.
const segmentsPerLine = 1000

/** Gives each virtual server the segments that a file lists for it. Does nothing if there is no file. */
export async function readPlacement(cluster: VirtualCluster, file: string): Promise<void> {
  if (!existsSync(file)) return
  for await (const line of linesOf(createReadStream(file))) {
    const { server, segments } = JSON.parse(line) as PlacementLine
    const found = cluster.get(server)
    if (!found) continue
    for (const [id, sizeBytes] of segments) {
      const segment = cluster.numbers.take(id, sizeBytes)
      cluster.load(found, segment)
      cluster.numbers.release(segment)
    }
  }
}

/** Writes the segments of all virtual servers to a file, which appears only when it is complete. */
export async function writePlacement(cluster: VirtualCluster, file: string): Promise<void> {
  const growing = `${file}.new`
  await pipeline(placementLines(cluster), createWriteStream(growing, { mode: 0o600 }))
  await rename(growing, file)
}

function* placementLines(cluster: VirtualCluster): Generator<string> {
  const { numbers } = cluster
  for (const { name: server, served } of cluster.servers()) {
    let segments: [string, number][] = []
    const line = (): string => `${JSON.stringify({ server, segments } satisfies PlacementLine)}\n`
    for (const segment of served.segments()) {
      segments.push([numbers.idOf(segment), numbers.sizeOf(segment)])
      if (segments.length < segmentsPerLine) continue
      yield line()
      segments = []
    }
    if (segments.length > 0) yield line()
  }
}
