import type { Random } from './random.ts'

/** A file. `synced` is the content that survives a loss of power. */
export interface FileNode {
  readonly kind: 'file'
  data: Buffer
  synced: Buffer
  modifiedAtMs: number
}

export interface FolderNode {
  readonly kind: 'folder'
  readonly entries: Map<string, FileNode | FolderNode>
}

type Node = FileNode | FolderNode

/** A change to the names on a disk. */
type NameChange =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'file'; readonly path: string; readonly file: FileNode }
  | { readonly kind: 'rename'; readonly path: string; readonly to: string }
  | { readonly kind: 'remove'; readonly path: string }

/** An error of the operating system. */
export function systemError(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated, '${path}'`), { code, path })
}

const newFolder = (): FolderNode => ({ kind: 'folder', entries: new Map() })

/**
 * A disk with the semantics of a journaling file system: a loss of power keeps a prefix of the changes to names that
 * includes all those before the last sync of a folder, and the content of files as of their last sync.
 */
export class Disk {
  private root = newFolder()
  /** What survives a loss of power. */
  private durable = newFolder()
  private unsynced: NameChange[] = []
  private readonly random: Random
  /** Whether it has no free space. */
  isFull = false
  /** Whether syncs succeed without any effect. */
  isLying = false
  /** The probability that a read returns a wrong byte. */
  misreads = 0
  /** How much longer each access takes. */
  slownessMs = 0
  /** Called before a folder or file is removed, renamed, or lost. */
  onChange: (path: string) => void = () => undefined
  /** Called after a folder or file has got another name. */
  onRenamed: (path: string) => void = () => undefined

  constructor(random: Random) {
    this.random = random
  }

  find(path: string): Node | undefined {
    return find(this.root, path)
  }

  /** Returns the file or folder. Throws ENOENT if there is none. */
  get(path: string): Node {
    const found = this.find(path)
    if (found === undefined) throw systemError('ENOENT', path)
    return found
  }

  folder(path: string): FolderNode {
    const found = this.get(path)
    if (found.kind !== 'folder') throw systemError('ENOTDIR', path)
    return found
  }

  file(path: string): FileNode {
    const found = this.get(path)
    if (found.kind !== 'file') throw systemError('EISDIR', path)
    return found
  }

  createFolder(path: string): void {
    this.assertSpace(path)
    this.change({ kind: 'folder', path })
  }

  createFile(path: string, modifiedAtMs: number): FileNode {
    this.assertSpace(path)
    const file: FileNode = { kind: 'file', data: Buffer.alloc(0), synced: Buffer.alloc(0), modifiedAtMs }
    this.change({ kind: 'file', path, file })
    return file
  }

  /** Gives a file another name. */
  link(path: string, to: string): void {
    this.change({ kind: 'file', path: to, file: this.file(path) })
  }

  write(file: FileNode, data: Buffer, modifiedAtMs: number, path: string): void {
    this.assertSpace(path)
    file.data = data
    file.modifiedAtMs = modifiedAtMs
  }

  rename(path: string, to: string): void {
    this.get(path)
    this.change({ kind: 'rename', path, to })
  }

  remove(path: string): void {
    this.get(path)
    this.change({ kind: 'remove', path })
  }

  syncFile(file: FileNode): void {
    if (!this.isLying) file.synced = file.data
  }

  /** Makes all changes to names durable. */
  syncNames(): void {
    if (this.isLying) return
    for (const change of this.unsynced) apply(this.durable, change)
    this.unsynced = []
  }

  /** Loses what was not synced, or a part of it. */
  losePower(): void {
    const kept = this.random.below(this.unsynced.length + 1)
    for (const change of this.unsynced.slice(0, kept)) apply(this.durable, change)
    this.unsynced = []
    this.root = copyOf(this.durable, (file) => this.afterLoss(file))
    this.durable = copyOf(this.root, (file) => file)
    this.onChange('/')
  }

  /** Changes one byte of a file. */
  corrupt(file: FileNode): void {
    if (file.data.length === 0) return
    const index = this.random.below(file.data.length)
    const data = Buffer.from(file.data)
    data[index] = data[index]! ^ (1 << this.random.below(8))
    file.data = data
    file.synced = data
  }

  private afterLoss(file: FileNode): FileNode {
    const { data, synced } = file
    if (data === synced) return file
    const found = this.random.pick([
      synced,
      data,
      Buffer.alloc(data.length),
      data.subarray(0, this.random.below(data.length + 1)),
    ])
    return { ...file, data: found, synced: found }
  }

  private change(change: NameChange): void {
    if (change.kind === 'rename' || change.kind === 'remove') this.onChange(change.path)
    apply(this.root, change)
    this.unsynced.push(change)
    if (change.kind === 'rename') this.onRenamed(change.to)
  }

  private assertSpace(path: string): void {
    if (this.isFull) throw systemError('ENOSPC', path)
  }
}

function find(root: FolderNode, path: string): Node | undefined {
  let node: Node = root
  for (let start = 0; start <= path.length; ) {
    const slash = path.indexOf('/', start)
    const end = slash === -1 ? path.length : slash
    if (end > start) {
      if (node.kind === 'file') return undefined
      const next = node.entries.get(path.slice(start, end))
      if (next === undefined) return undefined
      node = next
    }
    start = end + 1
  }
  return node
}

/** Applies a change to a tree of names. The same changes in the same order have the same effect on equal trees. */
function apply(root: FolderNode, change: NameChange): void {
  const [parent, name] = placeOf(root, change.path)
  switch (change.kind) {
    case 'folder':
      parent.entries.set(name, newFolder())
      return
    case 'file':
      parent.entries.set(name, change.file)
      return
    case 'remove':
      parent.entries.delete(name)
      return
    case 'rename': {
      const node = parent.entries.get(name)!
      const [target, newName] = placeOf(root, change.to)
      parent.entries.delete(name)
      target.entries.set(newName, node)
    }
  }
}

/** Returns the folder that contains a path, and the name in it. Throws ENOENT if there is no such folder. */
function placeOf(root: FolderNode, path: string): [FolderNode, string] {
  const slash = path.lastIndexOf('/')
  const name = path.slice(slash + 1)
  const parent = find(root, path.slice(0, slash))
  if (parent === undefined) throw systemError('ENOENT', path)
  if (parent.kind === 'file') throw systemError('ENOTDIR', path)
  return [parent, name]
}

function copyOf(folder: FolderNode, fileOf: (file: FileNode) => FileNode): FolderNode {
  const copy = newFolder()
  for (const [name, node] of folder.entries)
    copy.entries.set(name, node.kind === 'file' ? fileOf(node) : copyOf(node, fileOf))
  return copy
}
