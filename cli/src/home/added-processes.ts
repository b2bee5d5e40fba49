import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { serverNameAt } from '@svc/domain/calls'
import { identify, isRunning, type ProcessIdentity } from '../processes/index.ts'
import type { HomeLayout } from './layout.ts'
import { type RunningProcess, readRunFile, writeAtomically } from './run-file.ts'

/** A process added to the running cluster of a home, and the command that supervises it. */
export interface AddedProcess {
  readonly supervisor: ProcessIdentity
  /** Missing until its first start. */
  readonly member?: RunningProcess
}

const suffix = '.added.json'
const fileOf = (home: HomeLayout, instance: string): string => path.join(home.run, `${instance}${suffix}`)

/** Claims a name for a process of this command. Returns false if a running process has the name. */
export function claimAddedProcess(home: HomeLayout, instance: string): boolean {
  const file = fileOf(home, instance)
  const holder = read(file)
  if (holder && isAlive(holder)) return false
  rmSync(file, { force: true })
  const supervisor = identify(process.pid, 'node')
  try {
    // If two commands compete, only one of them creates the file.
    writeFileSync(file, JSON.stringify({ supervisor }), { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Records the current state of this command's added process. */
export function writeAddedProcess(home: HomeLayout, member: RunningProcess): void {
  const supervisor = identify(process.pid, 'node')
  writeAtomically(fileOf(home, member.instance), JSON.stringify({ supervisor, member }), 0o600)
}

/** Releases the name. */
export function removeAddedProcess(home: HomeLayout, instance: string): void {
  rmSync(fileOf(home, instance), { force: true })
}

/** The added processes that are running, or whose command is running. */
export function addedProcesses(home: HomeLayout): AddedProcess[] {
  return namesIn(home.run)
    .filter((name) => name.endsWith(suffix))
    .sort()
    .flatMap((name) => read(path.join(home.run, name)) ?? [])
    .filter(isAlive)
}

/** Every recorded process of a home: those of the cluster, and those added to it. */
export function processesOf(home: HomeLayout): RunningProcess[] {
  const added = addedProcesses(home).flatMap(({ member }) => member ?? [])
  return [...(readRunFile(home)?.processes ?? []), ...added]
}

/** Returns the name of the server with an instance name such as historical-1; undefined if the home has none. */
export function serverNameOf(home: HomeLayout, instance: string): string | undefined {
  const found = processesOf(home).find((one) => one.instance === instance && one.url.startsWith('http'))
  return found && serverNameAt(found.url)
}

const isAlive = ({ supervisor, member }: AddedProcess): boolean =>
  isRunning(supervisor) || (member?.process !== undefined && isRunning(member.process))

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Undefined if the file is missing or incomplete: its command has just started, or died while writing it. */
function read(file: string): AddedProcess | undefined {
  try {
    const content = JSON.parse(readFileSync(file, 'utf8')) as Partial<AddedProcess>
    return content.supervisor ? (content as AddedProcess) : undefined
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
