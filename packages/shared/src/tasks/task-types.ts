import { refuse } from '@svc/domain/validation'
import { compactTask } from './compact-task.ts'
import { indexTask } from './index-task.ts'
import { killTask } from './kill-task.ts'
import type { TaskType } from './task-type.ts'

/** All types of tasks. */
export const taskTypes: readonly TaskType[] = [indexTask, compactTask, killTask]

/** Returns the type with a name. Throws an invalidInput Failure if there is none. */
export function taskTypeOf(name: unknown): TaskType {
  const found = taskTypes.find(({ type }) => type === name)
  if (found === undefined) {
    throw refuse('type', name, `one of [${taskTypes.map(({ type }) => type).join(', ')}]`)
  }
  return found
}
