import { Failure, invalidInput } from '@svc/domain/failure'
import type { CompleteInventory, GivenSegment, PreviewServer } from '@svc/domain/preview'
import { defaultRulesName } from '@svc/domain/rules'
import {
  type FoundSnapshotFile,
  inventoryOfSnapshot,
  manifestProblems,
  readJsonObject,
  readSegmentRow,
  readSnapshotManifest,
  readSnapshotRules,
  readSnapshotServers,
  snapshotFiles,
  snapshotManifestFile,
} from '@svc/domain/snapshot'
import { finish } from '@svc/domain/steps'
import type { OpenedSnapshot, SnapshotPlace } from './messages.ts'

/** A file of a snapshot. */
interface SnapshotFile {
  readonly name: string
  /** Undefined if the server of the page sends the file; `./svc console` checks such files itself. */
  readonly chosen?: File
  readonly isCompressed?: boolean
  open(): Promise<ReadableStream<Uint8Array<ArrayBuffer>>>
}

/** The files of a snapshot by name, and the name of their folder. */
interface SnapshotFolder {
  readonly name: string
  readonly files: ReadonlyMap<string, SnapshotFile>
}

/** Unreadable parts: counts all, and lists the first. */
class Problems {
  count = 0
  readonly listed: string[] = []

  note(problem: string): void {
    this.count += 1
    if (this.listed.length < 10) this.listed.push(problem)
  }

  readonly attempt = <Value>(where: string, read: () => Value): Value | undefined => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      this.note(`${where}: ${error.message}`)
      return undefined
    }
  }
}

/** Reads a snapshot. Throws a Failure that says which file is missing or unreadable. */
export async function readSnapshot(
  place: SnapshotPlace,
  now: number,
): Promise<{ readonly inventory: CompleteInventory; readonly opened: OpenedSnapshot }> {
  const { name, files } = await folderOf(place)
  await checkManifest(files)
  const problems = new Problems()
  const needed = async (file: string): Promise<unknown> => {
    const document = await readJson(files.get(file))
    if (document === undefined) throw invalidInput(`Missing file [${file}]: expected the files of a snapshot`)
    return document
  }
  const decommissioning = await decommissioningServers(files)
  const listed = await needed(snapshotFiles.servers)
  const servers = inFile(snapshotFiles.servers, () => readSnapshotServers(listed, problems.attempt)).map(
    ({ host, tier, maxSize }): PreviewServer => ({
      name: host,
      type: 'historical',
      tier,
      maxSizeBytes: maxSize,
      decommissioning: decommissioning.has(host),
    }),
  )
  if (servers.length === 0 && problems.count > 0)
    throw unreadable(snapshotFiles.servers, 'server', '/druid/coordinator/v1/servers?simple', problems)
  const storedRules = await needed(snapshotFiles.rules)
  const rules = inFile(snapshotFiles.rules, () => readSnapshotRules(storedRules, problems.attempt))
  if (!rules.has(defaultRulesName)) rules.set(defaultRulesName, [])
  const segments = await readSegments(files, problems)
  const placement = await readPlacement(files.get(snapshotFiles.placement), problems)
  const inventory = finish(inventoryOfSnapshot({ now, servers, rules, segments, placement }))
  return {
    inventory,
    opened: {
      name,
      segments: segments.length,
      servers: servers.length,
      hasPlacement: placement !== undefined,
      problemCount: problems.count,
      problems: problems.listed,
    },
  }
}

/** Reads the content of a file. A Failure names the file. */
function inFile<Value>(file: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw invalidInput(`Invalid file [${file}]: ${error.message}`)
  }
}

/** Returns the failure for a file in which nothing is readable. */
const unreadable = (file: string, what: string, path: string, { listed }: Problems): Failure =>
  invalidInput(`Invalid file [${file}]: no ${what} is readable. Save it from [${path}]. ${listed.at(-1)}`)

async function folderOf(place: SnapshotPlace): Promise<SnapshotFolder> {
  if ('files' in place) {
    const folder = place.name ?? place.files[0]?.webkitRelativePath.split('/')[0] ?? ''
    return {
      name: folder === '' ? `of ${place.files.length} files` : folder,
      files: new Map(
        (await Promise.all(place.files.map(chosenFile))).map((file) => [file.name, file] as const),
      ),
    }
  }
  const list = await (await fetchFile(`${place.address}files.json`)).json()
  const { name, files } = list as { readonly name: string; readonly files: readonly string[] }
  return {
    name,
    files: new Map(
      files.map((file) => [
        file,
        { name: file, open: async () => (await fetchFile(`${place.address}${file}`)).body! },
      ]),
    ),
  }
}

/** Returns a chosen file, whose content is UTF-8 when it is opened, even if it is compressed or UTF-16 (PowerShell). */
async function chosenFile(file: File): Promise<SnapshotFile> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  const isCompressed = first === 0x1f && second === 0x8b
  const isUtf16 = first === 0xff && second === 0xfe
  const open = async (): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> => {
    if (isCompressed) return file.stream().pipeThrough(new DecompressionStream('gzip'))
    if (!isUtf16) return file.stream()
    return file.stream().pipeThrough(new TextDecoderStream('utf-16le')).pipeThrough(new TextEncoderStream())
  }
  return { name: file.name.replace(/\.gz$/, ''), chosen: file, isCompressed, open }
}

async function fetchFile(address: string): Promise<Response> {
  const response = await fetch(address, { credentials: 'omit', cache: 'no-store' }).catch(() => undefined)
  if (!response?.ok) throw invalidInput(`Failed to read [${address}]: check that the server is still running`)
  return response
}

// Larger files are compared by their size only, because browsers compute a checksum of an entire file in memory.
const maxCheckedBytes = 256 * 1024 * 1024

/**
 * Compares the files that the page reads with the manifest that `./svc export` wrote, if it was chosen, too. Throws a
 * Failure that lists files that are missing, truncated, or changed.
 */
async function checkManifest(files: SnapshotFolder['files']): Promise<void> {
  const chosen = files.get(snapshotManifestFile)?.chosen
  if (chosen === undefined) return
  const manifest = readSnapshotManifest(await chosen.text(), snapshotManifestFile)
  const found = new Map<string, FoundSnapshotFile>()
  for (const name of Object.values(snapshotFiles)) {
    const file = files.get(name)?.chosen
    found.set(name, file === undefined ? { problem: 'it is missing' } : await describeFile(file))
  }
  const problems = manifestProblems(manifest, found)
  if (problems.length === 0) return
  throw invalidInput(
    `The snapshot has changed since ./svc export wrote it: ${problems.join('; ')}. Export the snapshot again. To use it anyway, drop its files without [${snapshotManifestFile}].`,
  )
}

async function describeFile(file: File): Promise<FoundSnapshotFile> {
  const sizeBytes = file.size
  // Only pages from HTTPS or this machine can compute checksums.
  if (!isSecureContext || sizeBytes > maxCheckedBytes) return { sizeBytes }
  const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer())
  const hex = (byte: number): string => byte.toString(16).padStart(2, '0')
  return { sizeBytes, sha256: Array.from(new Uint8Array(digest), hex).join('') }
}

async function readJson(file: SnapshotFile | undefined): Promise<unknown> {
  if (file === undefined) return undefined
  const text = await new Response(await file.open()).text().catch(() => {
    if (file.isCompressed)
      throw invalidInput(`Invalid file [${file.name}]: its gzip compression is truncated or damaged`)
    throw invalidInput(`File [${file.name}] is too large for this browser: use [svc import] instead`)
  })
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw invalidInput(`Invalid file [${file.name}]: expected JSON (${(error as Error).message})`)
  }
}

async function decommissioningServers(files: SnapshotFolder['files']): Promise<ReadonlySet<string>> {
  const config = await readJson(files.get(snapshotFiles.config))
  const names = config === undefined ? [] : readJsonObject(config).decommissioningNodes
  return new Set(Array.isArray(names) ? names.map(String) : [])
}

async function readSegments(files: SnapshotFolder['files'], problems: Problems): Promise<GivenSegment[]> {
  const segments: GivenSegment[] = []
  const add = (row: number, value: unknown): void => {
    const read = readSegmentRow(value)
    if ('problem' in read) {
      problems.note(`Segment row [${row}]: ${read.problem}`)
      return
    }
    const { dataSource, interval, version, partitionNum, partitions, sizeBytes } = read.segment
    segments.push({ dataSource, interval, version, partitionNum, partitions, sizeBytes })
  }
  const lines = files.get(snapshotFiles.segments)
  if (lines !== undefined) {
    await forEachRow(lines, problems, add)
    return segments
  }
  const list = await readJson(files.get(snapshotFiles.segmentList))
  if (list === undefined)
    throw invalidInput(
      `Missing file [${snapshotFiles.segments}] or [${snapshotFiles.segmentList}]: expected the files of a snapshot`,
    )
  const rows = rowsOf(list)
  if (rows === undefined)
    throw invalidInput(`Invalid file [${snapshotFiles.segmentList}]: expected a list of segments`)
  const problemsBefore = problems.count
  for (const [index, value] of rows.entries()) add(index + 1, value)
  if (segments.length === 0 && problems.count > problemsBefore)
    throw unreadable(
      snapshotFiles.segmentList,
      'segment',
      '/druid/coordinator/v1/metadata/segments',
      problems,
    )
  return segments
}

/** Returns the segments in a list of segments, a datasource, or a list of datasources; undefined if it is something else. */
function rowsOf(document: unknown): readonly unknown[] | undefined {
  const segmentsOf = (value: unknown): readonly unknown[] | undefined => {
    const { segments } = (value ?? {}) as { readonly segments?: unknown }
    return Array.isArray(segments) ? segments : undefined
  }
  if (!Array.isArray(document)) return segmentsOf(document)
  return document.flatMap((value: unknown) => segmentsOf(value) ?? [value])
}

async function readPlacement(
  file: SnapshotFile | undefined,
  problems: Problems,
): Promise<Map<string, string[]> | undefined> {
  if (file === undefined) return undefined
  const placement = new Map<string, string[]>()
  await forEachRow(file, problems, (row, value) => {
    problems.attempt(`${file.name} row [${row}]`, () => {
      const { server, segments } = readJsonObject(value)
      if (typeof server !== 'string' || !Array.isArray(segments))
        throw invalidInput('Invalid row: expected a server and its segments')
      const known = placement.get(server) ?? []
      // A server may have several rows. Its list can be too long to be passed as arguments.
      for (const id of segments) known.push(String(id))
      placement.set(server, known)
    })
  })
  return placement
}

/** Calls a function for each line of a file, with its number and its JSON. */
async function forEachRow(
  file: SnapshotFile,
  problems: Problems,
  visit: (row: number, value: unknown) => void,
): Promise<void> {
  let row = 0
  for await (const lines of linesOf(await file.open())) {
    for (const line of lines) {
      row += 1
      if (line.trim() === '') continue
      let value: unknown
      try {
        value = JSON.parse(line)
      } catch {
        problems.note(`${file.name} row [${row}]: expected JSON`)
        continue
      }
      visit(row, value)
    }
  }
}

/** Returns the lines of a text, several at a time. */
async function* linesOf(bytes: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string[]> {
  const reader = bytes.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    const lines = (rest + value).split('\n')
    rest = lines.pop()!
    yield lines
  }
  yield [rest]
}
