const minVersion = { major: 22, minor: 18 } as const

/** What a user of this version of Node.js must do before the package works; undefined if it works. */
export function nodeVersionProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > minVersion.major || (major === minVersion.major && minor >= minVersion.minor)) return undefined
  return (
    `Node.js ${minVersion.major}.${minVersion.minor} or newer is required, but the current version is [${version}]. ` +
    'Get a newer version from https://nodejs.org/en/download'
  )
}
