/** Brings Debian packages into `folder`, complete or not at all; throws an Error with one line. */
export function unpackDebianPackages(request: {
  names: readonly string[]
  alsoNeeded: RegExp
  folder: string
}): Promise<void>

/** The folders under an unpacked `folder` that hold shared libraries, as a value for LD_LIBRARY_PATH. */
export function libraryPath(folder: string): string
