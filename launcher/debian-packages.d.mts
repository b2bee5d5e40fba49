/** Downloads and unpacks Debian packages into `folder`, which appears only when it is complete. Throws an Error with one line. */
export function unpackDebianPackages(request: {
  names: readonly string[]
  alsoNeeded: RegExp
  folder: string
  signal?: AbortSignal
}): Promise<void>

/** The folders with shared libraries in an unpacked `folder`, as a value for LD_LIBRARY_PATH. */
export function libraryPath(folder: string): string
