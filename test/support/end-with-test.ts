import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { svcCommand } from './svc-command.ts'

// Names are in the environment: tests search the command lines of processes for the names of homes.
const script = 'cat >/dev/null; "$SVC_COMMAND" down --home "$SVC_HOME"; rm -rf "$SVC_FOLDER"'

/**
 * Starts a shell that waits for the end of this process, stops the cluster of a home, and deletes its folder: a killed
 * process cannot do that. Returns a function that ends the shell.
 */
export function endWithTest(home: string, folder: string): () => void {
  const watcher = spawn('sh', ['-c', script], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...process.env, SVC_COMMAND: svcCommand, SVC_HOME: home, SVC_FOLDER: folder },
  })
  watcher.unref()
  const input = watcher.stdin as Socket
  input.unref()
  return () => {
    // Its group includes the program that reads its input.
    if (watcher.pid !== undefined && watcher.exitCode === null) process.kill(-watcher.pid, 'SIGKILL')
    input.destroy()
  }
}
