/** The attempt that publishes. */
export interface PublishingAttempt {
  readonly taskId: string
  readonly attempt: number
  readonly priority: number
  readonly progress: unknown
}

/** What became of a publication: all of it, or nothing. */
export type PublishedState =
  | 'published'
  /** Another attempt of the task counts, or it was ended. */
  | 'notTheAttempt'
  /** A task of the same or a higher priority has the interval: it is to be tried again. */
  | 'intervalTaken'
