/** The parts of a simulation that know nothing about svc: time, processes, machines, disks, and the network. */
export { Disk, type FileNode, type FolderNode, systemError } from './disk.ts'
export { currentProcess, Machine, SimulatedProcess, type Simulation } from './machine.ts'
export { type Exchange, type LinkState, Network } from './network.ts'
export { type Random, randomOf } from './random.ts'
export { type ScheduledEvent, Scheduler } from './scheduler.ts'
