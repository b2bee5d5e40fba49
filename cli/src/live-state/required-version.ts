export type Headers = Readonly<Record<string, string>>

/** The header that makes a request fail with a conflict unless the version is still the current one. */
export const requiredVersion = (version: string | undefined): Headers =>
  version === undefined ? {} : { 'If-Match': version }

/** The header that makes a request fail with a conflict if the entry exists. */
export const requiredAbsence: Headers = { 'If-None-Match': '*' }
