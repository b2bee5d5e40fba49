import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { userCache } from './user-cache.ts'

/** The root of this checkout, or of the installed package: the files that svc reads have the same paths in both. */
export const repositoryRoot = path.resolve(fileURLToPath(new URL('../../..', import.meta.url)))

/** Whether svc runs in a checkout, which has the ./svc command, and not from an installed package. */
const isCheckout = existsSync(path.join(repositoryRoot, 'svc'))

/** The default home: next to the ./svc command of a checkout; in the working directory with a package. */
export const defaultHome = path.join(isCheckout ? repositoryRoot : process.cwd(), '.svc')

const cacheOfUser = isCheckout ? undefined : userCache(process.env)

/**
 * What is downloaded or prepared once for several homes: those of this checkout, or with a package those of this user. A user
 * without a home directory has it in the package.
 */
export const cacheFolder =
  cacheOfUser === undefined ? path.join(repositoryRoot, '.cache') : path.join(cacheOfUser, 'svc')
