import type { Login } from '../schedule.ts'
import { ofKind, type Story } from './story.ts'

const isSuccess = (status: number | null): boolean => status !== null && status < 400

/** What may never be answered to each kind of caller. */
const wrongAnswers: Readonly<Record<Login, (status: number | null) => boolean>> = {
  admin: (status) => status === 401 || status === 403,
  reader: (status) => status === 401 || status === 403,
  readerElsewhere: (status) => isSuccess(status) || status === 401,
  readerWrites: (status) => isSuccess(status) || status === 401,
  stranger: (status) => isSuccess(status) || status === 401,
  wrongPassword: (status) => status !== null && status < 500 && status !== 401 && status !== 429,
}

/** Everybody is let in as far as their rights go, and no further. */
export function rightsHold(story: Story): string[] {
  return ofKind(story, 'login').flatMap(({ work, status, step }) =>
    wrongAnswers[work.login](status)
      ? [`[${work.login}] was answered ${status} by [${step.to}] ([${step.id}])`]
      : [],
  )
}
