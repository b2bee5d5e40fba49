/** Stands in for `node:fs/promises`: the same functions on the disks of the simulated machine. */
import { constants, type MakeDirectoryOptions, type RmOptions } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { currentProcess, type Disk, type FileNode, type FolderNode, systemError } from '../kernel/index.ts'

// Functions that no simulated server calls stay as they are.
export * from 'node:fs/promises'

// Milliseconds that an access takes on an idle disk.
const minAccessMs = 0.02
const maxAccessMs = 0.2

/**
 * Accesses the disk that contains a path. If the process is killed in the meantime, the access may still take effect, but
 * nobody gets the result.
 */
function access<Result>(path: string, operate: (disk: Disk) => Result): Promise<Result> {
  const process = currentProcess()
  if (process === undefined) throw new Error(`No simulated process accesses [${path}]`)
  const { machine, random } = process
  const disk = machine.diskOf(path)
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  const stop = process.onKill(() => {
    if (random.isTrue(0.5)) attempt(() => operate(disk))
  })
  const delayMs = random.between(minAccessMs, maxAccessMs) + disk.slownessMs * random.next()
  process.later(delayMs, () => {
    stop()
    try {
      resolve(operate(disk))
    } catch (error) {
      reject(error)
    }
  })
  return promise
}

function attempt(run: () => unknown): void {
  try {
    run()
  } catch {
    // Nobody gets the error.
  }
}

/** The time that files get, in epoch milliseconds. */
const now = (): number => Date.now()

/** Returns a copy of what was read, which a bad disk may have changed. */
function readBytes(disk: Disk, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  const random = currentProcess()?.random
  if (disk.misreads > 0 && copy.length > 0 && random?.isTrue(disk.misreads)) {
    const index = random.below(copy.length)
    copy[index] = copy[index]! ^ 1
  }
  return copy
}

const statOf = (node: FileNode | FolderNode) => ({
  size: node.kind === 'file' ? node.data.length : 0,
  mtimeMs: node.kind === 'file' ? node.modifiedAtMs : 0,
  isFile: () => node.kind === 'file',
  isDirectory: () => node.kind === 'folder',
})

/** An open file or folder. */
class SimulatedHandle {
  private readonly path: string
  private readonly node: FileNode | FolderNode
  private position = 0

  constructor(path: string, node: FileNode | FolderNode) {
    this.path = path
    this.node = node
  }

  private get file(): FileNode {
    if (this.node.kind === 'folder') throw systemError('EISDIR', this.path)
    return this.node
  }

  private append(disk: Disk, bytes: Uint8Array): void {
    disk.write(this.file, Buffer.concat([this.file.data, bytes]), now(), this.path)
  }

  stat = () => access(this.path, () => statOf(this.node))

  read(buffer: Buffer, offset: number, length: number): Promise<{ bytesRead: number }> {
    return access(this.path, (disk) => {
      const part = readBytes(disk, this.file.data.subarray(this.position, this.position + length))
      part.copy(buffer, offset)
      this.position += part.length
      return { bytesRead: part.length }
    })
  }

  write(bytes: Buffer, offset = 0, length = bytes.length - offset): Promise<{ bytesWritten: number }> {
    // The caller may reuse its buffer.
    const part = Buffer.from(bytes.subarray(offset, offset + length))
    return access(this.path, (disk) => {
      this.append(disk, part)
      return { bytesWritten: part.length }
    })
  }

  writeFile(text: string): Promise<void> {
    return access(this.path, (disk) => this.append(disk, Buffer.from(text)))
  }

  readFile(): Promise<Buffer> {
    return access(this.path, (disk) => readBytes(disk, this.file.data))
  }

  createReadStream({ start = 0, end }: { start?: number; end?: number } = {}): Readable {
    const read = () =>
      access(this.path, (disk) => readBytes(disk, this.file.data).subarray(start, end && end + 1))
    return Readable.from(
      (async function* () {
        yield await read()
      })(),
    )
  }

  sync(): Promise<void> {
    const { node } = this
    return access(this.path, (disk) => (node.kind === 'file' ? disk.syncFile(node) : disk.syncNames()))
  }

  async close(): Promise<void> {}
}

/** Opens a file or a folder. Numeric flags may only open files to read. */
export function open(path: string, flags: string | number = 'r'): Promise<SimulatedHandle> {
  return access(path, (disk) => {
    const found = disk.find(path)
    switch (flags) {
      case 'r':
      case constants.O_RDONLY | constants.O_NONBLOCK:
        return new SimulatedHandle(path, disk.get(path))
      case 'a':
        return new SimulatedHandle(path, found?.kind === 'file' ? found : disk.createFile(path, now()))
      case 'wx':
        if (found !== undefined) throw systemError('EEXIST', path)
        return new SimulatedHandle(path, disk.createFile(path, now()))
      default:
        throw new Error(`The simulated disk does not open files with the flags [${flags}]`)
    }
  })
}

export function readFile(path: string): Promise<Buffer>
export function readFile(path: string, encoding: 'utf8'): Promise<string>
export function readFile(path: string, encoding?: 'utf8'): Promise<Buffer | string> {
  return access(path, (disk) => {
    const bytes = readBytes(disk, disk.file(path).data)
    return encoding === undefined ? bytes : bytes.toString(encoding)
  })
}

export function writeFile(path: string, text: string): Promise<void> {
  return access(path, (disk) => disk.write(disk.createFile(path, now()), Buffer.from(text), now(), path))
}

export function mkdir(
  path: string,
  { recursive = false }: MakeDirectoryOptions = {},
): Promise<string | undefined> {
  return access(path, (disk) => {
    const found = disk.find(path)
    if (found?.kind === 'folder' && recursive) return undefined
    if (found !== undefined) throw systemError('EEXIST', path)
    const missing = [path]
    while (recursive && missing[0] !== '/' && disk.find(dirname(missing[0]!)) === undefined)
      missing.unshift(dirname(missing[0]!))
    for (const folder of missing) disk.createFolder(folder)
    return missing[0]
  })
}

export function readdir(path: string): Promise<string[]> {
  return access(path, (disk) => [...disk.folder(path).entries.keys()])
}

interface Entry {
  readonly name: string
  isFile(): boolean
  isDirectory(): boolean
}

export function opendir(path: string): Promise<Entry[]> {
  return access(path, (disk) =>
    [...disk.folder(path).entries].map(([name, node]) => ({ name, ...statOf(node) })),
  )
}

export function stat(path: string): Promise<ReturnType<typeof statOf>> {
  return access(path, (disk) => statOf(disk.get(path)))
}

export function realpath(path: string): Promise<string> {
  return access(path, (disk) => {
    disk.get(path)
    return join(path)
  })
}

export function rename(path: string, to: string): Promise<void> {
  return access(path, (disk) => {
    const target = disk.find(to)
    if (target?.kind === 'folder' && target.entries.size > 0) throw systemError('ENOTEMPTY', to)
    disk.rename(path, to)
  })
}

export function link(path: string, to: string): Promise<void> {
  return access(path, (disk) => {
    if (disk.find(to) !== undefined) throw systemError('EEXIST', to)
    disk.link(path, to)
  })
}

export function copyFile(path: string, to: string): Promise<void> {
  return access(path, (disk) => disk.write(disk.createFile(to, now()), disk.file(path).data, now(), to))
}

export function rm(path: string, { recursive = false, force = false }: RmOptions = {}): Promise<void> {
  return access(path, (disk) => {
    const found = disk.find(path)
    if (found === undefined && force) return
    if (found?.kind === 'folder' && !recursive) throw systemError('ERR_FS_EISDIR', path)
    disk.remove(path)
  })
}

export function rmdir(path: string): Promise<void> {
  return access(path, (disk) => {
    if (disk.folder(path).entries.size > 0) throw systemError('ENOTEMPTY', path)
    disk.remove(path)
  })
}
