import { loadSettings, type Role, type Settings } from '../config/index.ts'

/** Returns the settings of a server with these properties, which override those in the files. */
export function testSettings(
  role: Role,
  properties: Readonly<Record<string, string>> = {},
  files: readonly string[] = [],
): Settings {
  const variables = Object.entries(properties).map(([name, text]) => [name.replaceAll('.', '_'), text])
  return loadSettings(role, files, Object.fromEntries(variables))
}
