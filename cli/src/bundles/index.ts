/** The programs that launcher/build.mjs bundles: what starts a server or the command as a process runs its bundle. */
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import type { Role } from '@svc/shared/config'
import { repositoryRoot } from '../home/index.ts'

const isBundle = !import.meta.filename.endsWith('.ts')

let folder: string | undefined = isBundle ? import.meta.dirname : process.env.SVC_BUILD

/** Returns the path of a bundle. Sources that run directly, as in tests without `./svc dev test`, build it first. */
export function bundleOf(program: Role | 'svc'): string {
  folder ??= execFileSync(process.execPath, [path.join(repositoryRoot, 'launcher/build.mjs')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim()
  return path.join(folder, `${program}.mjs`)
}

/** Returns the path of a server's source, which runs directly. */
export function sourceOf(role: Role): string {
  return path.join(repositoryRoot, 'services', role, 'src/main.ts')
}
