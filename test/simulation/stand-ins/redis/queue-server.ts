import type { Exchange, Machine, SimulatedProcess } from '../../kernel/index.ts'

/** Work in a queue. */
export interface Job {
  readonly id: string
  readonly data: unknown
  /** Jobs with a lower rank come first. */
  readonly rank: number
  readonly sequence: number
  /** The worker that has it; undefined while it waits. */
  holder: SimulatedProcess | undefined
  /** Whether its worker has received it. */
  isReceived: boolean
}

interface Queue {
  readonly jobs: Map<string, Job>
  readonly takers: ((job: Job) => void)[]
  /** A job whose worker does not respond for this long is delivered again. */
  lockMs: number
}

/** The server with the work queues. Jobs are delivered at least once. All of them may be lost. */
export class QueueServer {
  readonly machine: Machine
  private readonly queues = new Map<string, Queue>()
  private epoch: string | undefined
  private sequence = 0

  constructor(machine: Machine) {
    this.machine = machine
  }

  /** Loses everything, as a restart without persistence does. */
  flush(): void {
    this.epoch = undefined
    for (const { jobs } of this.queues.values()) jobs.clear()
  }

  /** Forgets who waits for jobs, because their connections are broken. */
  stop(): void {
    for (const queue of this.queues.values()) queue.takers.length = 0
  }

  /** Watches the jobs that workers had when it stopped. */
  start(): void {
    for (const queue of this.queues.values())
      for (const job of queue.jobs.values()) if (job.holder !== undefined) this.watch(queue, job)
  }

  /** Returns the ID of this lifetime of the queues; `next` becomes the ID if there is none. */
  epochOr(next: string): string {
    this.epoch ??= next
    return this.epoch
  }

  /** Adds a job unless there is one with the same ID. */
  add(name: string, data: unknown, rank = 0, id = String(this.sequence)): void {
    const queue = this.queue(name)
    if (queue.jobs.has(id)) return
    queue.jobs.set(id, { id, data, rank, sequence: this.sequence++, holder: undefined, isReceived: false })
    this.dispatch(queue)
  }

  /** Waits for the next job of a queue. */
  take(name: string, lockMs: number, exchange: Exchange): Promise<Job> {
    const queue = this.queue(name)
    queue.lockMs = lockMs
    const { promise, resolve } = Promise.withResolvers<Job>()
    const taker = (job: Job): void => {
      job.holder = exchange.caller
      job.isReceived = false
      this.watch(queue, job)
      resolve(job)
    }
    exchange.onClose = () => {
      if (queue.takers.includes(taker)) queue.takers.splice(queue.takers.indexOf(taker), 1)
    }
    queue.takers.push(taker)
    this.dispatch(queue)
    return promise
  }

  /** Removes a job that its worker has finished. */
  complete(name: string, job: Job): void {
    const { jobs } = this.queue(name)
    if (jobs.get(job.id) === job) jobs.delete(job.id)
  }

  private queue(name: string): Queue {
    let queue = this.queues.get(name)
    if (queue === undefined) {
      queue = { jobs: new Map(), takers: [], lockMs: 30_000 }
      this.queues.set(name, queue)
    }
    return queue
  }

  private dispatch(queue: Queue): void {
    while (queue.takers.length > 0) {
      const [job] = [...queue.jobs.values()]
        .filter(({ holder }) => holder === undefined)
        .sort((a, b) => a.rank - b.rank || a.sequence - b.sequence)
      if (job === undefined) return
      queue.takers.shift()!(job)
    }
  }

  /** Delivers a job again if its worker does not work on it when its lock expires. */
  private watch(queue: Queue, job: Job): void {
    const { holder } = job
    this.machine.process?.later(queue.lockMs * 1.5, () => {
      if (queue.jobs.get(job.id) !== job || job.holder !== holder) return
      const isWorking = holder?.isAlive === true && !holder.isPaused && job.isReceived
      if (isWorking) return this.watch(queue, job)
      job.holder = undefined
      this.dispatch(queue)
    })
  }
}
