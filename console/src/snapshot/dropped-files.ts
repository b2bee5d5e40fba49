import type { SnapshotPlace } from '../web-worker/index.ts'

/** Returns the files that were dropped on the page, and those in dropped folders. */
export async function droppedFiles(data: DataTransfer): Promise<SnapshotPlace> {
  // The entries are only available until the event handler pauses.
  const entries = [...data.items].flatMap((item) => item.webkitGetAsEntry() ?? [])
  const folder = entries.find(({ isDirectory }) => isDirectory)
  const files = await Promise.all(entries.map(filesOf))
  return { files: files.flat(), ...(folder === undefined ? {} : { name: folder.name }) }
}

async function filesOf(entry: FileSystemEntry): Promise<File[]> {
  if (entry.isFile)
    return [
      await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)),
    ]
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  const found: File[] = []
  for (;;) {
    // Browsers return a folder in parts.
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    )
    if (entries.length === 0) return found
    const files = await Promise.all(entries.filter(({ isFile }) => isFile).map(filesOf))
    found.push(...files.flat())
  }
}
